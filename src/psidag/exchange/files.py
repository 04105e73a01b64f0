"""Graphs to and from files, by the ending of the file or by the name of the format."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from psidag.exchange import dot_format, edges_format, gml_format, graphml_format, json_format
from psidag.exchange.content import Content, as_content
from psidag.graph.dag import DAG
from psidag.system.atomic import replace_file
from psidag.system.errors import InputError, listing


class Format(NamedTuple):
    """How a format is written and read, and the endings of its files."""

    endings: tuple[str, ...]
    write: Callable[[Content], str]
    read: Callable[[str, str], DAG]


#: The formats by name.
FORMATS: dict[str, Format] = {
    "json": Format((".json",), json_format.write, json_format.read),
    "edges": Format((".csv",), edges_format.write, edges_format.read),
    "tsv": Format((".tsv", ".tab"), edges_format.write_tabs, edges_format.read),
    "matrix": Format((".matrix.csv",), edges_format.write_matrix, edges_format.read_matrix),
    "graphml": Format((".graphml",), graphml_format.write, graphml_format.read),
    "gml": Format((".gml",), gml_format.write, gml_format.read),
    "dot": Format((".dot", ".gv"), dot_format.write, dot_format.read),
    "dagitty": Format((".dagitty",), dot_format.write_dagitty, dot_format.read),
    "cytoscape": Format((".cyjs",), json_format.write_cytoscape, json_format.read),
}


def write_graph(graph: Any, path: str | Path, format: str | None = None) -> None:  # noqa: A002
    """Write a graph to a file, whole or not at all; ``-`` is standard output.

    Parameters
    ----------
    graph : DAG, Solution, PsiDAG, array or sparse matrix
        What to write. A Solution adds standard errors, intercepts and the like where the format has room.
    path : str or Path
        The ending says the format: ``.json``, ``.csv`` (edges), ``.graphml``, ``.gml``, ``.dot``, ``.dagitty``,
        ``.cyjs``, ``.matrix.csv``.
    format : str, optional
        A name among :data:`FORMATS`, for another ending.

    Examples
    --------
    >>> write_graph(DAG.from_edges([("dose", "effect", 2.0)]), "-", format="edges")
    source,target,weight
    dose,effect,2.0
    """
    text = format_graph(graph, format or format_of(path))
    if str(path) == "-":
        sys.stdout.write(text)
    else:
        # Half a character, which UTF-8 has no place for, is spelled out.
        replace_file(path, text.encode(errors="backslashreplace"))


def format_graph(graph: Any, format: str) -> str:  # noqa: A002
    """The text of a graph in one of the formats.

    Examples
    --------
    >>> print(format_graph(DAG.from_edges([("a", "b", 0.5)]), "edges"), end="")
    source,target,weight
    a,b,0.5
    """
    return _format(format).write(as_content(graph))


def read_graph(path: str | Path, format: str | None = None) -> DAG:  # noqa: A002
    """Read a graph from a file, or from standard input (``-``, with its format).

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_graph(DAG.from_edges([("dose", "effect", 2.0)]), f"{folder}/graph.json")
    ...     read_graph(f"{folder}/graph.json")
    DAG(2 variables, 1 edges)
    """
    if str(path) == "-":
        return parse_graph(sys.stdin.read(), format or "json", "standard input")
    where = repr(str(path))
    chosen = format or format_of(path)
    try:
        # As it stands: a carriage return may be part of a name.
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        raise InputError(f"there is no file {where}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {where}: {getattr(error, 'strerror', None) or error}") from None
    return parse_graph(text, chosen, where)


def parse_graph(text: str, format: str, where: str = "the text") -> DAG:  # noqa: A002
    r"""The graph in a text; ``where`` is what errors call it.

    Examples
    --------
    >>> parse_graph("source,target\na,b\n", "edges")
    DAG(2 variables, 1 edges)
    """
    return _format(format).read(text, where)


def format_of(path: str | Path) -> str:
    """The format that a file ending stands for.

    Examples
    --------
    >>> format_of("graph.graphml"), format_of("edges.csv")
    ('graphml', 'edges')
    """
    name = str(path).lower()
    fitting = [
        (len(ending), key) for key, entry in FORMATS.items() for ending in entry.endings if name.endswith(ending)
    ]
    if not fitting:
        endings = " ".join(ending for entry in FORMATS.values() for ending in entry.endings)
        raise InputError(f"{str(path)!r} has no ending that stands for a graph format; there are {endings}")
    return max(fitting)[1]


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise InputError(f"there is no graph format {name!r}; there are {listing(list(FORMATS), limit=20)}")
    return FORMATS[name]
