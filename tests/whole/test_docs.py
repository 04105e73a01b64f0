"""The examples in the documents and docstrings do what they say."""

import doctest
import importlib
import pkgutil
from pathlib import Path

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


@pytest.mark.parametrize("name", modules())
def test_docstrings(name):
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert not failures
