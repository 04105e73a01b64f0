"""The examples in the documents and docstrings do what they say."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import psidag

DOCS = Path(__file__).parents[2] / "docs"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules():
    # The folders are listed from the sources: an editable install hides them from pkgutil.
    root = Path(psidag.__file__).parent
    return sorted(
        m.name for m in pkgutil.walk_packages([str(root)], "psidag.") if not m.name.split(".")[-1].startswith("_")
    )


@pytest.mark.parametrize("page", sorted(p.name for p in DOCS.glob("*.md")))
def test_pages(page):
    failures, _ = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=FLAGS)
    assert not failures


@pytest.mark.parametrize("name", modules())
def test_docstrings(name):
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert not failures
