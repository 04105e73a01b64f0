"""The examples in the documents and docstrings do what they say."""

import doctest
import importlib.util
import pkgutil
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import psidag

ROOT = Path(__file__).parents[2]
PAGES = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules():
    # The folders are listed from the sources: an editable install hides them from pkgutil.
    root = Path(psidag.__file__).parent
    return sorted(
        m.name for m in pkgutil.walk_packages([str(root)], "psidag.") if not m.name.split(".")[-1].startswith("_")
    )


def examples():
    """The pages that have examples; pages of prose alone have nothing to run."""
    pages = [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8")]
    return sorted(str(page.relative_to(ROOT)) for page in pages if "_build" not in page.parts)


@pytest.mark.parametrize("page", examples())
def test_pages(page):
    failures, tried = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=FLAGS)
    assert tried
    assert not failures


def blocks(page, language):
    """The fenced blocks of a page in one language."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.S | re.M)
    return [text for kind, text in fenced if kind == language]


def test_the_lines_that_the_readme_opens_with(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    age, dose = rng.normal(size=(2, 300))
    table = pd.DataFrame({"patient": [f"P{k}" for k in range(300)], "age": age, "dose": dose - age})
    table["sex"] = rng.choice(["male", "female"], size=300)
    table["pressure"] = table["dose"] + age + rng.normal(size=300)
    table.loc[7, "dose"] = None
    table.to_csv(tmp_path / "clinic.csv", index=False)
    monkeypatch.chdir(tmp_path)
    with pytest.warns(psidag.DataWarning, match="left out: 1 of 300"):
        exec(blocks("README.md", "python")[0], {})
    assert "Effect(value=" in capsys.readouterr().out
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_the_lines_of_the_readme_that_judge_themselves(capsys):
    """What is printed is what stands below them; the errors may differ by a few on another processor."""
    code, printed = blocks("README.md", "python")[1], blocks("README.md", "")[0]
    exec(code, {})
    found, written = (re.findall(r"\d[\d.]*", text) for text in (capsys.readouterr().out, printed))
    assert found[0] == written[0]
    assert [float(n) for n in found] == pytest.approx([float(n) for n in written], rel=0.01, abs=3)


@pytest.mark.parametrize("name", modules())
def test_docstrings(name):
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        # What opens with an import of a library that need not be there is tested where it is.
        opening = re.match(r"import (pgmpy|causallearn)$", test.examples[0].source.strip()) if test.examples else None
        if opening is None or importlib.util.find_spec(opening[1]) is not None:
            runner.run(test)
    assert not runner.failures
