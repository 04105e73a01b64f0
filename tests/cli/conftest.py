"""What the tests of the command line share."""

import pytest

from psidag.datasets import load_sachs


@pytest.fixture
def sachs(tmp_path):
    problem = load_sachs()
    path = tmp_path / "sachs.csv"
    rows = [",".join(problem.names), *(",".join(map(repr, row)) for row in problem.X.tolist())]
    path.write_text("\n".join(rows) + "\n")
    return path
