"""Settings for all tests."""

import sys

import pytest
from hypothesis import settings

from psidag.cli.app import main

# A test that is slow on a busy machine is not a failing test.
settings.register_profile("psidag", deadline=None)
settings.load_profile("psidag")


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """The command in this process: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["psidag", *map(str, arguments)])
        with pytest.raises(SystemExit) as done:
            main()
        out, err = capsys.readouterr()
        return done.value.code, out, err

    return command
