"""What the package names, it has; and asking for its version imports nothing that takes time."""

import subprocess
import sys

import pytest

import psidag


@pytest.mark.parametrize("name", psidag.__all__)
def test_every_name_is_there(name):
    value = getattr(psidag, name)
    assert getattr(value, "__name__", "").rpartition(".")[2] == name


def test_rooms_are_found_and_strangers_are_not():
    assert psidag.simulate.simulate
    with pytest.raises(AttributeError, match="no attribute 'paint'"):
        _ = psidag.paint


def test_importing_the_package_imports_no_numerical_library():
    code = "import sys, psidag, psidag.cli; print(sorted({'numpy', 'scipy', 'sklearn'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
