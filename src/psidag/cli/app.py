"""The command ``psidag``: its subcommands, and what becomes of errors, warnings and Ctrl-C."""

from __future__ import annotations

import inspect
import os
import sys
import typing
import warnings
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, TypeVar

import typer

from psidag.cli.console import complain, in_flags, show_warning
from psidag.system.errors import InputError
from psidag.system.interrupts import INTERRUPTS

#: What typer raises over a command line it cannot use. Its home moved when typer took click in; the family did not.
_UsageError: Any = typer.BadParameter.__bases__[0]
_CommandError: Any = _UsageError.__bases__[0]

#: What a shell gives a command that Ctrl-C has ended.
_STOPPED = 130

app = typer.Typer(
    name="psidag",
    help="Learn directed acyclic graphs from data.",
    epilog="Start with: psidag demo",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


Request = TypeVar("Request", bound=Callable[..., Any])


def command(**settings: Any) -> Callable[[Request], Request]:
    """Let a dataclass be a command: its fields are the options, its docstring is the help, and it is called to run.

    For commands with many options, whose parts would otherwise hand them on to each other one by one.
    """

    def join(request: Request) -> Request:
        def run(**options: Any) -> None:
            request(**options)()

        run.__doc__ = request.__doc__
        run.__signature__ = inspect.signature(request, eval_str=True)  # type: ignore[attr-defined]
        run.__annotations__ = typing.get_type_hints(request, include_extras=True)
        app.command(request.__name__.lower(), **settings)(run)
        return request

    return join


def main() -> NoReturn:
    """Run the command line. Errors are one line and exit code 2, Ctrl-C is 130."""
    import psidag.cli.commands  # noqa: F401  (the commands join `app` when they are imported)

    warnings.showwarning = show_warning
    try:
        # Without standalone mode typer hands its errors over instead of drawing a box.
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except _CommandError as error:
        code = _fail(_usage(error))
    except InputError as error:
        code = _fail(str(error))
    except typer.Exit as done:
        code = done.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = _STOPPED
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does; nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        code = _fail(f"{error.strerror or error}" + (f": {error.filename!r}" if error.filename else ""))
    except MemoryError:
        code = _fail("not enough memory for this problem; `psidag info` says how much it takes")
    except Exception as error:
        if INTERRUPTS.pressed:
            # Whatever breaks because it was cut off is not worth a word of its own.
            code = _STOPPED
        else:
            code = _internal(error)
    if code == _STOPPED:
        # A command that has kept what it did says so itself, and leaves by SystemExit.
        complain(INTERRUPTS.farewell)
    raise SystemExit(code if isinstance(code, int) else 0)


def _internal(error: Exception) -> int:
    if os.environ.get("PSIDAG_DEBUG"):
        raise error
    return _fail(f"internal error, please report it: {type(error).__name__}: {error} (PSIDAG_DEBUG=1 shows where)")


def _usage(error: Any) -> str:
    return str(error.format_message()) + (" (see --help)" if isinstance(error, _UsageError) else "")


def _fail(message: str) -> int:
    complain(in_flags(" ".join(message.split())))
    return 2


def _version(wanted: bool) -> None:
    if wanted:
        from psidag import __version__

        typer.echo(f"psidag {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version and stop.")
    ] = False,
) -> None:
    """Learn directed acyclic graphs from data."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
