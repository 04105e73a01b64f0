"""The reference of the command line, written from its own help, so that it cannot be out of date."""

import inspect
from pathlib import Path

import typer.main
from sphinx.application import Sphinx

from psidag.cli.app import app as commands


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("[", "\\[")


def _table(heading: str, rows: list[tuple[str, str]]) -> str:
    if not rows:
        return ""
    return "\n".join([f"| {heading} | |", "|---|---|", *(f"| {name} | {_cell(text)} |" for name, text in rows)]) + "\n"


def _name(parameter: typer.core.TyperOption) -> str:
    names = ", ".join(f"`{option}`" for option in [*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} `{parameter.make_metavar(parameter_context)}`"


def _default(parameter: typer.core.TyperOption) -> str:
    shown = parameter.default
    return "" if shown in (None, False, (), []) or callable(shown) else f" (default: {shown})"


def _page(name: str, command: typer.core.TyperCommand) -> str:
    options, arguments = [], []
    for parameter in command.params:
        help_text = getattr(parameter, "help", None) or ""
        if parameter.param_type_name == "argument":
            arguments.append((f"`{parameter.human_readable_name}`", help_text))
        elif not parameter.hidden and parameter.name != "help":
            options.append((_name(parameter), help_text + _default(parameter)))
    text = inspect.cleandoc(command.help or "").replace("\b\n", "").replace("\x08", "")
    usage = " ".join(command.collect_usage_pieces(parameter_context))
    parts = [f"## psidag {name}", text, f"```text\npsidag {name} {usage}\n```"]
    return "\n\n".join([*parts, _table("argument", arguments), _table("option", options)])


parameter_context = typer.Context(typer.main.get_command(commands))


def write(app: Sphinx) -> None:
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
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
