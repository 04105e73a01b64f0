"""Docstrings are written to be read as plain text: bars in them are those of mathematics."""

import re

from sphinx.application import Sphinx

_CODE = re.compile(r"^\s*(>>>|\.\.\. )")


def escape_bars(app: Sphinx, what: str, name: str, item: object, options: object, lines: list[str]) -> None:
    """Bars open a substitution in reStructuredText; nothing here uses one."""
    for k, line in enumerate(lines):
        if "|" in line and not _CODE.match(line):
            # Every second piece is code between double backquotes, in which bars mean nothing.
            pieces = line.split("``")
            lines[k] = "``".join(p if i % 2 else p.replace("|", "\\|") for i, p in enumerate(pieces))


def setup(app: Sphinx) -> dict[str, bool]:
    """Run before numpydoc rearranges the lines."""
    app.connect("autodoc-process-docstring", escape_bars, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
