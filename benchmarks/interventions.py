"""Learning from experiments: errors and processor time with targets, without them, and where they are wrong.

Gaussian noise of unequal variances, weights ±[0.2, 1], five seeds, fixed before looking: 0 to 4, or others.

    python benchmarks/interventions.py main third robust starts large peers --seed 100
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np

from psidag import Interventions, check_interventions, learn_dag
from psidag.data.experiment import as_experiment
from psidag.engines.refining import Refining
from psidag.graph.constraints import unconstrained
from psidag.graph.dag import DAG
from psidag.graph.metrics import edge_errors
from psidag.run.loop import Task, run
from psidag.run.status import Candidate
from psidag.scores.gaussian import UNEQUAL
from psidag.scores.targeted import TargetedScore
from psidag.simulate import simulate
from psidag.simulate.experiment import experiment
from psidag.simulate.model import LinearSEM
from psidag.stages.within_order import search_penalty
from psidag.system.parallel import SERIAL

SEEDS = range(5)
SIZES = {"ER2 100": ("ER2", 100, 1000, 20), "SF2 100": ("SF2", 100, 500, 10), "ER2 500": ("ER2", 500, 2000, 20)}


def model_of(kind, d, seed):
    scale = np.random.default_rng([seed, 1]).uniform(0.5, 2.0, d)
    return simulate(kind, d=d, n=2, seed=seed, ranges=((-1, -0.2), (0.2, 1)), scale=scale).model


def learned(X, names, evidence=False, **options):
    begun = time.process_time()
    found = learn_dag(X, names=names, noise="unequal", random_state=0, evidence=evidence, **options)
    return found, time.process_time() - begun


def line(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def summary(errors):
    return f"{np.mean([e.shd for e in errors]):.1f} ({np.mean([e.reversed for e in errors]):.1f})"


def main():
    """SHD (reversed) with targets, without them, and from controls alone."""
    line("data", "controls alone", "all rows, no targets", "targets", "each seed", "processor s")
    for name, (kind, d, controls, rows) in SIZES.items():
        results = {"controls": [], "pooled": [], "targets": []}
        seconds = []
        for seed in SEEDS:
            model = model_of(kind, d, seed)
            made = experiment(model, rows=rows, control_rows=controls, seed=seed)
            results["controls"].append(edge_errors(model.dag, learned(made.X[:controls], made.names)[0].dag))
            results["pooled"].append(edge_errors(model.dag, learned(made.X, made.names)[0].dag))
            found, spent = learned(made.X, made.names, interventions=made.labels)
            results["targets"].append(edge_errors(model.dag, found.dag))
            seconds.append(spent)
        each = " ".join(str(e.shd) for e in results["targets"])
        line(name, *(summary(found) for found in results.values()), each, f"{np.mean(seconds):.1f}")


def third():
    """Edges directed with a third of the variables as targets, and without; how many of them wrongly."""
    line("seed", "directed without", "directed with", "of edges", "wrongly directed")
    for seed in SEEDS:
        model = model_of("ER2", 100, seed)
        targets = np.random.default_rng([seed, 2]).permutation(model.names)[:33].tolist()
        made = experiment(model, targets, 20, control_rows=1000, seed=seed)
        without = learned(made.X[:1000], made.names, True)[0].graph
        graph = learned(made.X, made.names, True, interventions=made.labels)[0].graph
        true = model.dag.to_dense() != 0
        wrong = sum(true[graph.index(b), graph.index(a)] for a, b in graph.directed_edges())
        line(seed, without.n_directed, graph.n_directed, graph.n_edges, f"{wrong} ({wrong / graph.n_directed:.1%})")


def robust():
    """What is not as it is said: shifts, means that do not move, off-targets, wrong labels."""
    line("data", "ER2 100", "SF2 100")
    cases = ("shifts as perfect", "shifts as shifts", "no shift of the mean", "an off-target each", "10 % wrong labels")
    for case in cases:
        cells = []
        for kind, d, controls, rows in list(SIZES.values())[:2]:
            errors = []
            for seed in SEEDS:
                model = model_of(kind, d, seed)
                X, labels = altered(case, model, controls, rows, seed)
                found, _ = learned(X, model.names, interventions=labels)
                errors.append(edge_errors(model.dag, found.dag))
            cells.append(summary(errors))
        line(case, *cells)


def altered(case, model, controls, rows, seed):
    rng = np.random.default_rng([seed, 3])
    manner = {"shifts as perfect": "shift", "shifts as shifts": "shift", "no shift of the mean": "randomise"}
    targets = None
    if case == "an off-target each":
        others = [rng.choice([b for b in model.names if b != a]) for a in model.names]
        targets = list(zip(model.names, map(str, others), strict=True))
    made = experiment(model, targets, rows, control_rows=controls, manner=manner.get(case, "knockdown"), seed=seed)
    labels = [None if label is None else label[:1] for label in made.labels]
    if case == "10 % wrong labels":
        for k in np.flatnonzero(rng.random(len(labels)) < 0.1).tolist():
            labels[k] = (str(rng.choice(model.names)),)
    return made.X, Interventions(labels, kind="shift") if case == "shifts as shifts" else labels


def offtargets():
    """Unknown off-targets, before and after those that the check names are added to the labels."""
    line("seed", "SHD before", "named", "of them true", "SHD after")
    for seed in SEEDS:
        model = model_of("ER2", 100, seed)
        X, labels = altered("an off-target each", model, 1000, 20, seed)
        rng = np.random.default_rng([seed, 3])
        true = {(a, str(rng.choice([b for b in model.names if b != a]))) for a in model.names}
        before = edge_errors(model.dag, learned(X, model.names, interventions=labels)[0].dag)
        checks = check_interventions(X, labels, names=model.names, noise="unequal", random_state=0)
        also = {target: [v for t, v in checks.off_targets if t == target] for target in model.names}
        told = [None if label is None else (*label, *also[label[0]]) for label in labels]
        after = edge_errors(model.dag, learned(X, model.names, interventions=told)[0].dag)
        named = set(checks.off_targets)
        line(seed, before.shd, len(named), len(named & true), after.shd)


def starts():
    """Where the refinement begins: at the graph of all rows, at that of controls, or at the better one of both."""
    line("data", "interventions", "pooled", "observational", "both")
    for manner in ("knockdown", "randomise"):
        for name, (kind, d, controls, rows) in list(SIZES.items())[:2]:
            errors = {"pooled": [], "observational": [], "both": []}
            for seed in SEEDS:
                model = model_of(kind, d, seed)
                made = experiment(model, rows=rows, control_rows=controls, manner=manner, seed=seed)
                source = as_experiment(made.X, made.labels, names=made.names)
                found = {
                    "pooled": refined(source, learned(made.X, made.names)[0].dag),
                    "observational": refined(source, learned(made.X[:controls], made.names)[0].dag),
                }
                found["both"] = min(found.values(), key=lambda each: each.loss)
                for begin, graph in found.items():
                    errors[begin].append(edge_errors(model.dag, graph.weights))
            line(name, manner, *(summary(each) for each in errors.values()))


def refined(source, dag):
    """A graph refined on the rows in which each variable was left alone, and its score."""
    data = source.conditions()
    price = search_penalty(data.total, data.d)
    task = Task(source, unconstrained(source.names), np.random.default_rng(0), SERIAL, UNEQUAL)
    begin = Candidate(dag.order, dag.weights, np.inf)
    engine = Refining(begin, TargetedScore(data, price, UNEQUAL), price, lambda found: found)
    return run(engine, task).candidate


def calibration(d=20, trees=60):
    """How often arrows are right that interventions give to trees, which have no colliders; seeds from 300 on."""
    found = []
    for seed in range(300, 300 + trees):
        rng = np.random.default_rng([seed, 1])
        W, order = np.zeros((d, d)), rng.permutation(d)
        for k in range(1, d):
            W[order[rng.integers(max(0, k - 4), k)], order[k]] = rng.choice([-1, 1]) * rng.uniform(0.2, 1)
        model = LinearSEM(DAG.from_weights(W), model_of("ER1", 5, 0).noise, rng.uniform(0.5, 2, d))
        targets = rng.permutation(model.names)[:10].tolist()
        rows, manner = int(rng.choice([2, 3, 5, 10])), str(rng.choice(["knockdown", "randomise", "shift"]))
        made = experiment(model, targets, rows, control_rows=300, manner=manner, seed=seed)
        graph = learned(made.X, made.names, True, interventions=made.labels)[0].graph
        for a, b in graph.directed_edges():
            right = W[graph.index(a), graph.index(b)] != 0
            found.append((graph.because(a, b), graph.evidence(a, b).probability, right))
    line("because", "probability", "arrows", "right")
    for reason in ("intervention", "collider"):
        for low, high in ((0.95, 0.98), (0.98, 0.995), (0.995, 1.01)):
            right = [ok for why, sure, ok in found if why == reason and low <= sure < high]
            line(reason, f"{low} to {high}", len(right), f"{np.mean(right):.1%}")


def large(d=2000, controls=5000, rows=50):
    """The size of a Perturb-seq screen: from memory, and by the command line from Parquet in a process of its own."""
    import os
    import sys
    import tempfile
    from pathlib import Path

    import pyarrow as pa
    import pyarrow.parquet as pq

    from psidag.exchange import read_graph

    line("seed", "from", "SHD", "edges", "processor s", "wall s", "peak GB")
    seed = SEEDS[0]
    model = model_of("ER2", d, seed)
    made = experiment(model, rows=rows, control_rows=controls, seed=seed)
    begun = time.perf_counter()
    found, spent = learned(made.X, made.names, interventions=made.labels)
    wall, peak = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shd = edge_errors(model.dag, found.dag).shd
    line(seed, "memory", shd, model.dag.n_edges, f"{spent:.0f}", f"{wall:.0f}", f"{peak / 2**20:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        table, graph = Path(folder, "cells.parquet"), Path(folder, "graph.json")
        columns = {name: made.X[:, k] for k, name in enumerate(made.names)}
        columns["guide"] = ["non-targeting" if label is None else label[0] for label in made.labels]
        pq.write_table(pa.table(columns), table, row_group_size=5000)
        del made, columns, found
        words = ["fit", str(table), "--interventions", "guide", "-o", str(graph)]
        begun = time.perf_counter()
        child = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-m", "psidag", *words])
        _, status, used = os.wait4(child, 0)
        wall, spent = time.perf_counter() - begun, used.ru_utime + used.ru_stime
        shd = edge_errors(model.dag, read_graph(graph)).shd if status == 0 else f"code {status}"
    line(seed, "command", shd, model.dag.n_edges, f"{spent:.0f}", f"{wall:.0f}", f"{used.ru_maxrss / 2**20:.1f}")


def peers():
    """`gies` on the same rows, where it is installed; and SDCD, where an interpreter that has it is named."""
    line("d", "seed", "psidag SHD", "psidag s", *(cell for name in PEERS for cell in (f"{name} SHD", f"{name} s")))
    for d in (10, 20):
        for seed in SEEDS:
            model = model_of("ER2", d, seed)
            made = experiment(model, rows=20, control_rows=500, seed=seed)
            found, spent = learned(made.X, made.names, interventions=made.labels)
            cells = [edge_errors(model.dag, found.dag).shd, f"{spent:.2f}"]
            for peer in PEERS.values():
                matrix, spent = peer(made.X, d)
                cells += [edge_errors(model.dag, matrix != 0).shd, f"{spent:.2f}"]
            line(d, seed, *cells)


def by_gies(X, d):
    """The graph of `gies` and its processor time; 500 controls come first, then 20 rows of each target."""
    import gies

    begun = time.process_time()
    matrix, _ = gies.fit_bic([X[:500], *np.split(X[500:], d)], [[], *([j] for j in range(d))])
    return matrix, time.process_time() - begun


def by_sdcd(X, d):
    """The graph of SDCD and its processor time, in a process of its own."""
    import subprocess
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        rows, graph = Path(folder, "rows.npz"), Path(folder, "graph.npy")
        np.savez(rows, X=X, labels=np.r_[np.full(500, -1), np.repeat(np.arange(d), 20)])
        command = [SDCD, str(Path(__file__).parent / "peers" / "sdcd_graph.py"), str(rows), str(graph)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return np.load(graph), float(said.split()[-1])


SECTIONS = {part.__name__: part for part in (main, third, robust, offtargets, starts, calibration, large, peers)}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--seed", type=int, default=0, help="The first of five.")
    parser.add_argument("--peers", nargs="*", default=["gies"], choices=["gies", "sdcd"], help="Beside psidag.")
    parser.add_argument("--sdcd", default="python", metavar="PYTHON", help="An interpreter that has SDCD.")
    given = parser.parse_args()
    SDCD = given.sdcd
    PEERS = {name: {"gies": by_gies, "sdcd": by_sdcd}[name] for name in given.peers}
    SEEDS = range(given.seed, given.seed + 5)
    for section in given.sections:
        print(f"\n{section}, seeds {SEEDS[0]} to {SEEDS[-1]}\n")
        SECTIONS[section]()
