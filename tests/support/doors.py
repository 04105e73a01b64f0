"""Ways in and out that the degenerate cases are sent through: each takes a case and hands back the graph it ends with.

What a door promises besides the graph is asserted here: streams are matched by name, a budget ends a run after a
bounded number of looks at the clock, and a command never touches its input.
"""

import contextlib
import io
import itertools
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np

from psidag import InputError, PsiDAG, bootstrap, fit_order, learn_dag
from psidag.cli.app import main
from psidag.data.moments import Moments
from psidag.exchange import read_graph

#: A run that looks at the clock more often than this after its time is over does not heed it.
_LOOKS = 400
#: What a command may be asked to write, and whether it can.
_OUTPUTS = {"g.json": True, "g.dot": True, "missing/g.json": False, "t.csv": False, "link.csv": False, "g.odd": False}


def through_table(X, method, **options):
    return learn_dag(X, method, **options).dag


def through_weights(X, method, **options):
    weight = np.random.default_rng(options["random_state"]).integers(0, 3, size=len(X)).astype(float)
    return learn_dag(X, method, sample_weight=weight, **options).dag


def through_moments(X, method, **options):
    return learn_dag(Moments.from_rows(X), method, **options).dag


def through_stream(X, method, **options):
    return learn_dag(iter(np.array_split(X, 2)), method, **options).dag


def through_named_stream(X, method, **options):
    """Columns that come in another order in each batch are matched by name; without them or with others, refused."""
    import pandas as pd

    rng = np.random.default_rng(options["random_state"])
    names = [f"x{k}" for k in range(X.shape[1])]
    first, second = (pd.DataFrame(rows, columns=names) for rows in np.array_split(X, 2))
    strange = rng.random()
    if strange < 0.2:
        second = second.rename(columns={names[0]: "other"}) if strange < 0.1 else second[names[1:]]
        try:
            learn_dag(iter([first, second]), method, **options)
        except InputError:
            raise
        raise AssertionError("a batch of other columns was taken")
    found = learn_dag(iter([first, second[list(rng.permutation(names))]]), method, **options).dag
    assert list(found.names) == names, "names were put in another order"
    assert list(found.edges()) == list(learn_dag(iter([first, second]), method, **options).dag.edges())
    return found


def through_batches(X, method, **options):
    model = PsiDAG(method, **options)
    for batch in np.array_split(X, 2):
        model.partial_fit(batch)
    return model.solution_.dag


def through_order(X, method, **options):
    known, d = options["constraints"], X.shape[1]
    order = known.bind([f"x{k}" for k in range(d)]).nearest_order(np.arange(d))
    return fit_order(X, order, constraints=known, threshold=options["threshold"], n_jobs=1).dag


def through_bootstrap(X, method, **options):
    return bootstrap(X, method, replicates=2, **options).consensus()


def through_targets(X, method, **options):
    """An experiment: in some rows something was set."""
    rng = np.random.default_rng(options["random_state"])
    labels = [f"x{rng.integers(X.shape[1])}" if rng.random() < 0.4 else None for _ in X]
    return learn_dag(X, method, interventions=labels, **options).dag


def through_budget(X, method, **options):
    """A clock that is a second later at each look: the run must end, with a graph, soon after its time."""
    looks = itertools.count()
    budget = 10.0 ** np.random.default_rng(options["random_state"]).integers(-3, 3)
    with mock.patch.object(time, "perf_counter", side_effect=map(float, looks)):
        found = learn_dag(X, method, max_time=float(budget), **options).dag
    assert next(looks) < budget + _LOOKS, "the run does not heed its time"
    return found


def through_command(X, method, **options):
    """A file by a command, with an output that can be written or cannot: the file stays as it was, in either case."""
    rng = np.random.default_rng(options["random_state"])
    names = [f"x{k}" for k in range(X.shape[1])]
    with tempfile.TemporaryDirectory() as folder:
        table, output = Path(folder, "t.csv"), str(rng.choice(list(_OUTPUTS)))
        lines = [",".join(names), *(",".join(map(repr, row)) for row in X.tolist())]
        table.write_text("\n".join(lines) + "\n")
        Path(folder, "link.csv").symlink_to(table)
        before = table.read_bytes()
        code, text = _command("fit", table, "-o", Path(folder, output))
        assert table.read_bytes() == before, "the input was changed"
        assert "Traceback" not in text, text
        if code:
            assert text.splitlines()[-1].startswith("psidag: "), text
            assert _OUTPUTS[output] or output in text, f"not said that {output} cannot be written: {text}"
            raise InputError(text.splitlines()[-1])
        assert _OUTPUTS[output], f"{output} was written"
        return read_graph(Path(folder, output))


def _command(*arguments):
    """The exit code of a command in this process, and what it says."""
    said = io.StringIO()
    argv = mock.patch.object(sys, "argv", ["psidag", *map(str, arguments)])
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), argv:
        try:
            main()
        except SystemExit as done:
            return done.code, said.getvalue()
    raise AssertionError("the command did not end")


#: The doors, and how often each is taken.
DOORS = {
    "table": (0.48, through_table),
    "weighted": (0.08, through_weights),
    "moments": (0.08, through_moments),
    "stream": (0.06, through_stream),
    "named stream": (0.04, through_named_stream),
    "online": (0.06, through_batches),
    "order": (0.08, through_order),
    "bootstrap": (0.02, through_bootstrap),
    "targets": (0.04, through_targets),
    "budget": (0.04, through_budget),
    "command": (0.02, through_command),
}
