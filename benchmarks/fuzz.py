"""Degenerate tables with prior knowledge through every engine, baseline and front door: what fails, and how often.

    python benchmarks/fuzz.py                             # 100,000 cases
    python benchmarks/fuzz.py --cases 5000 --first 200000

The cases are those of ``tests/support/degenerate.py``, each from its own seed, so that a failure can be repeated by its
number. A failure is any exception but a clean refusal, and any graph that is not finite, not acyclic, lacks a required
edge or has a forbidden one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.degenerate import check, draw

#: A case that takes longer, in seconds of the processor, counts as one that hangs.
_HANGS = 20.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    given = parser.parse_args()
    outcomes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    examples: dict[str, int] = {}
    start = time.process_time()
    for seed in range(given.first, given.first + given.cases):
        case, began = draw(seed), time.process_time()
        kinds.update([f"method: {case.method}", f"door: {case.door}"])
        try:
            outcome = "graph" if check(case) else "refused"
        except Exception as error:
            outcome = f"failed: {type(error).__name__}: {str(error)[:100]}"
        if time.process_time() - began > _HANGS:
            outcome = f"failed: took more than {_HANGS:g} s"
        outcomes[outcome] += 1
        examples.setdefault(outcome, seed)
        done = seed - given.first + 1
        if done % 1000 == 0 or done == given.cases:
            failures = sum(times for name, times in outcomes.items() if name.startswith("failed"))
            print(f"{done} cases, {failures} failures, {time.process_time() - start:.0f} s", flush=True)
    for name, times in [*sorted(outcomes.items()), *sorted(kinds.items())]:
        print(f"{name}: {times}" + (f" (first: case {examples[name]})" if name.startswith("failed") else ""))


if __name__ == "__main__":
    main()
