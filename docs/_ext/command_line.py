"""The reference of the command line, written from its own help, so that it cannot be out of date."""

import inspect
from pathlib import Path

import typer.main
from sphinx.application import Sphinx
from sphinx.config import Config

# The module in which the commands join it: `psidag.cli.app` alone has none.
from psidag.cli.commands import app as commands


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("[", "\\[")


def _table(heading: str, rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    return "\n".join([f"| {heading} | |", "|---|---|", *(f"| {name} | {_cell(text)} |" for name, text in rows)]) + "\n"


def _page(name: str, command: typer.core.TyperCommand) -> str:
    context = typer.Context(command, info_name=f"psidag {name}")
    rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
    for parameter in command.params:
        record = parameter.get_help_record(context)  # None for what is hidden
        if record and parameter.name != "help":
            rows[parameter.param_type_name].append((f"`{record[0]}`".replace("|", "\\|"), record[1]))
    text = inspect.cleandoc(command.help or "").replace("\b\n", "").replace("\x08", "")
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"## psidag {name}", text, f"```text\npsidag {name} {usage}\n```"]
    return "\n\n".join([*parts, *(_table(kind, found) for kind, found in rows.items())])


def write(app: Sphinx, config: Config) -> None:
    """One page with all commands."""
    group = typer.main.get_command(commands)
    opening = (
        "# Command line reference\n\n"
        "What `psidag COMMAND --help` prints; the [guide](../guide/command-line.md) shows how the commands go together."
    )
    pages = [_page(name, command) for name, command in sorted(group.commands.items()) if not command.hidden]
    text = "\n\n".join([opening, *pages]) + "\n"
    target = Path(app.srcdir) / "reference" / "command-line.md"
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before Sphinx looks for sources."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
