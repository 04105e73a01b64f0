"""DOT, the language of Graphviz, and DAGitty's dialect of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from psidag.exchange.content import Content, build, number
from psidag.graph.dag import DAG
from psidag.system.errors import InputError

_TOKEN = re.compile(
    # Most of a large file are edges as they are commonly written, here and elsewhere: each is read in one go.
    r"""(?<=[;{])\s*(?!subgraph\b)
     (?:"(?P<source>[^"\\]*)"|(?P<plain_source>[A-Za-z_]\w*))[ ]?->[ ]?
     (?:"(?P<target>[^"\\]*)"|(?P<plain_target>[A-Za-z_]\w*))
     (?:[ ]\[weight="(?P<weight>[^"\\]*)",[ ]label="[^"\\]*"\])?(?P<edge>;)
    |\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*
    |"(?P<quoted>(?:[^"\\]|\\.)*)"
    |(?P<arrow><->|->|<-|--|@-@)
    |(?P<sign>[{}\[\];,=])
    |(?P<word>[^\s{}\[\];,="<>]+?(?=->|<-|--|[\s{}\[\];,="<>]|$))""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
#: A kind and a value; an edge in one token has its source, its target and its weight, if any.
Token = tuple[str, ...]
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_END = ("end", "")
_SETTINGS = ("node", "edge", "graph")


def write(content: Content) -> str:
    """``digraph`` with a vertex or an edge a line; weights are kept and shown rounded as labels.

    An edge without a known direction is drawn without a head (``dir=none``), and its label has a question mark.
    """
    lines = ["digraph psidag {", "  rankdir=LR;"]
    lines += [f"  {_quote(name)};" for name in content.dag.names]
    for (i, j, w), directed in zip(content.dag.edges(), content.directed, strict=True):
        look = f'weight="{w!r}", label="{w:.3g}"' if directed else f'weight="{w!r}", label="{w:.3g}?", dir=none'
        lines.append(f"  {_quote(i)} -> {_quote(j)} [{look}];")
    return "\n".join([*lines, "}"]) + "\n"


def write_dagitty(content: Content) -> str:
    """``dag { "a" -> "b" [beta=…] }``; paste it into dagitty.net or ``dagitty()`` in R.

    With edges whose direction is not known, ``pdag`` with ``"a" -- "b"``.
    """
    lines = ["dag {" if all(content.directed) else "pdag {"]
    lines += [_quote(name) for name in content.dag.names]
    lines += [
        f'{_quote(i)} {"->" if directed else "--"} {_quote(j)} [beta="{w!r}"]'
        for (i, j, w), directed in zip(content.dag.edges(), content.directed, strict=True)
    ]
    return "\n".join([*lines, "}"]) + "\n"


def read(text: str, where: str) -> DAG:
    """Either of the two: vertices, chains of edges, groups in braces; of attributes only weights are read.

    The undirected edges of a ``pdag`` are read as they stand, as one DAG that we wrote has them.
    """
    tokens = list(_tokens(text, where))
    words = [token[1].lower() for token in tokens[:3] if token[0] == "word"]
    if "graph" in words and "digraph" not in words:
        raise InputError(f"{where} is an undirected graph; a DAG has directions")
    opening = next((k for k, token in enumerate(tokens) if token == ("sign", "{")), None)
    if opening is None or not {"digraph", "dag", "pdag"} & set(words):
        raise InputError(f"{where} is not a graph in DOT or DAGitty: `digraph {{ … }}` or `dag {{ … }}` is expected")
    reader = _Reader(tokens[opening + 1 :], where, partial="pdag" in words)
    reader.statements()
    return build(reader.names, reader.edges, where)


class _Reader:
    """Statements up to the closing brace."""

    def __init__(self, tokens: list[Token], where: str, *, partial: bool) -> None:
        self._tokens = [*tokens, _END]
        self._next = 0
        self._where = where
        self._depth = 0
        self._arrows = ("->", "<-", "--") if partial else ("->", "<-")
        self.names: dict[str, None] = {}
        self.edges: list[tuple[str, str, float]] = []

    def statements(self) -> list[str]:
        """Read until a closing brace; the vertices that were named."""
        self._depth += 1
        if self._depth > 50:
            raise InputError(f"{self._where} is nested too deeply")
        named: list[str] = []
        while (token := self._take()) != ("sign", "}"):
            kind = token[0]
            if kind == "edge":
                _, source, target, weight = token
                self.names[source] = self.names[target] = None
                self.edges.append((source, target, number(weight, self._where, source, target)))
                named += (source, target)
            elif kind == "sign" and token[1] in ";,":
                continue
            elif kind == "word" and token[1].lower() in _SETTINGS and self._peek() == ("sign", "["):
                self._attributes()
            elif kind in ("word", "quoted") and self._peek() == ("sign", "="):
                self._take()
                self._take()
            else:
                named += self._chain(token)
        self._depth -= 1
        return named

    def _chain(self, token: Token) -> list[str]:
        """``a -> b -> {c d} [weight=2]``."""
        groups, arrows = [self._group(token)], []
        while self._peek()[0] == "arrow":
            arrows.append(self._take()[1])
            groups.append(self._group(self._take()))
        held = self._attributes() if self._peek() == ("sign", "[") else {}
        given = held.get("weight", held.get("beta"))
        for left, right, arrow in zip(groups, groups[1:], arrows, strict=False):
            if arrow not in self._arrows:
                raise InputError(f"{self._where} has the edge {left[0]!r} {arrow} {right[0]!r}; a DAG has arrows only")
            sources, targets = (right, left) if arrow == "<-" else (left, right)
            for i in sources:
                for j in targets:
                    self.edges.append((i, j, number(given, self._where, i, j)))
        return [name for group in groups for name in group]

    def _group(self, token: Token) -> list[str]:
        if token[0] == "word" and token[1].lower() == "subgraph":
            token = self._take()
            if token[0] != "sign":
                token = self._take()
        kind, value = token[:2]
        if (kind, value) == ("sign", "{"):
            return self.statements()
        if kind not in ("word", "quoted"):
            raise InputError(f"{self._where} cannot be read: {value!r} stands where a vertex should")
        self.names[value] = None
        return [value]

    def _attributes(self) -> dict[str, str]:
        """``[key=value, key]``."""
        found: dict[str, str] = {}
        self._take()
        while (token := self._take()) != ("sign", "]"):
            if token[0] in ("word", "quoted"):
                key = token[1]
                if self._peek() == ("sign", "="):
                    self._take()
                    found[key] = self._take()[1]
        return found

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        if token is _END:
            raise InputError(f"{self._where} ends before its closing brace")
        self._next += 1
        return token


def _tokens(text: str, where: str) -> Iterator[Token]:
    place = 0
    for found in _TOKEN.finditer(text):
        if found.start() != place:
            break
        place, kind = found.end(), found.lastgroup
        if kind == "edge":
            source, plain_source, target, plain_target, weight = found.group(1, 2, 3, 4, 5)
            yield kind, plain_source or source, plain_target or target, weight or ""
        elif kind == "quoted":
            value = found["quoted"]
            yield kind, _ESCAPED.sub(r"\1", value) if "\\" in value else value
        elif kind:
            yield kind, found[kind]
    if place != len(text):
        raise InputError(f"{where} cannot be read from {text[place : place + 20]!r} on")


def _quote(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
