"""Solution files whose checksums are right and whose content is not."""

import json
import zipfile

import numpy as np
import pytest

from psidag import InputError, Solution, fit_dag


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("names", "abc"),
        ("names", [1, 2, 3]),
        ("names", ["a", "b"]),
        ("status", ["converged"]),
        ("status", ["fine", "all is well"]),
        ("status", ["converged", 3]),
        ("trace", [["a"] * 7]),
        ("trace", [[1, 2, 3]]),
        ("trace", 5),
        ("n_samples", "many"),
        ("n_samples", []),
        ("candidate_loss", {}),
        ("warnings", "none"),
        ("warnings", [None]),
        ("origin", []),
        ("origin", {"call": 1}),
        ("confidence", {"names": []}),
    ],
)
def test_a_forged_head_is_refused_when_it_is_read(tmp_path, key, value):
    rows = np.random.default_rng(0).normal(size=(20, 3))
    fit_dag(rows, np.triu(np.ones((3, 3)), 1)).save(tmp_path / "true.psidag")
    with zipfile.ZipFile(tmp_path / "true.psidag") as held, zipfile.ZipFile(tmp_path / "m.psidag", "w") as forged:
        for name in held.namelist():
            content = held.read(name)
            if name.endswith(".json"):
                content = json.dumps(json.loads(content) | {key: value}).encode()
            forged.writestr(name, content)
    with pytest.raises(InputError, match=r"m\.psidag"):
        Solution.load(tmp_path / "m.psidag")
