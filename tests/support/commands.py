"""The command ``psidag`` as a process."""

import subprocess
import sys

COMMAND = [sys.executable, "-m", "psidag"]


def run(*arguments, cwd, **kwargs):
    """The command, when it has ended."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=120, **kwargs
    )


def start(*arguments, cwd, **kwargs):
    """The command, when it has begun."""
    pipe = subprocess.PIPE
    return subprocess.Popen([*COMMAND, *map(str, arguments)], cwd=cwd, stdout=pipe, stderr=pipe, text=True, **kwargs)
