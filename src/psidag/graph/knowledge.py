"""Prior knowledge from files: TOML, YAML, or the knowledge format of Tetrad."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from psidag.graph.constraints import Constraints, Edge, Vertex
from psidag.system.errors import InputError, listing

#: Knowledge is a mapping of lists of lists.
_DEEPEST = 10
#: Columns of one tier without edges among them: each pair of them is kept.
_MOST_APART = 3000
_EDGES = ("required_edges", "forbidden_edges")
_KEYS = (*_EDGES, "tiers", "exogenous", "sinks")


def read_knowledge(path: str | Path) -> Constraints:
    """What a file says; its ending tells the format, and ``/knowledge`` in its first line that it is Tetrad's."""
    where = repr(str(path))
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {where}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {where}: {getattr(error, 'strerror', None) or error}") from None
    ending = Path(path).suffix.lower()
    if ending == ".toml":
        return _from_mapping(_toml(text, where), where)
    if ending in (".yaml", ".yml"):
        return _from_mapping(_yaml(text, where), where)
    if text.lstrip().startswith("/knowledge"):
        return _tetrad(text, where)
    raise InputError(f"{where} is neither .toml nor .yaml, and does not begin with /knowledge as Tetrad's files do")


def _toml(text: str, where: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not TOML: {error}") from None


def _yaml(text: str, where: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise InputError(f"reading {where} needs pyyaml: pip install pyyaml, or write it as TOML") from None

    class Plain(yaml.SafeLoader):
        """Without aliases and deep nesting: a few lines of them unfold to more than memory or patience holds."""

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("aliases (*name) are not read; write the names out")
            self.depth += 1
            if self.depth > _DEEPEST:
                raise yaml.YAMLError(f"lists within lists to a depth of {_DEEPEST}")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [self.construct_object(key, deep=True) for key, _ in node.value]
            twice = [key for k, key in enumerate(keys) if key in keys[:k]]
            if twice:
                raise yaml.YAMLError(f"the key {twice[0]!r} stands there twice: put both lists into one")
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Plain) or {}
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"{where} is not YAML: {' '.join(str(error).split())}") from None


def _from_mapping(held: Any, where: str) -> Constraints:
    if not isinstance(held, dict):
        raise InputError(f"{where} must hold the keys {listing(_KEYS)}")
    unknown = [key for key in held if key not in _KEYS]
    if unknown:
        raise InputError(f"{where} has the key {unknown[0]!r}; the keys are {listing(_KEYS)}")
    required, forbidden = (_edges(held.get(key), key, where) for key in _EDGES)
    tiers = [
        tier if isinstance(tier, str) else _vertices(tier, "tiers", where)
        for tier in _list(held.get("tiers"), "tiers", where)
    ]
    exogenous, sinks = (_vertices(held.get(key), key, where) for key in ("exogenous", "sinks"))
    return Constraints(required, forbidden, tiers, exogenous, sinks)


def _edges(held: Any, key: str, where: str) -> list[Edge]:
    found: list[Edge] = []
    for pair in _list(held, key, where):
        vertices = _vertices(pair, key, where)
        if len(vertices) != 2:
            raise InputError(f'{key} in {where} must list pairs such as ["cause", "effect"]; got {reprlib.repr(pair)}')
        found.append((vertices[0], vertices[1]))
    return found


def _vertices(held: Any, key: str, where: str) -> list[Vertex]:
    found = _list(held, key, where)
    wrong = [v for v in found if not isinstance(v, str | int) or isinstance(v, bool)]
    if wrong:
        raise InputError(f"{key} in {where} must name columns or give their index; got {reprlib.repr(wrong[0])}")
    return found


def _list(held: Any, key: str, where: str) -> list[Any]:
    if held is None:
        return []
    if not isinstance(held, list):
        raise InputError(f"{key} in {where} must be a list; got {reprlib.repr(held)}")
    return held


def _tetrad(text: str, where: str) -> Constraints:
    """Sections ``addtemporal`` (a tier a line; ``3*``: none within it), ``forbiddirect``, ``requiredirect``."""
    required: list[Edge] = []
    forbidden: list[Edge] = []
    tiers: dict[int, list[Vertex]] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.replace(",", " ").split()
        if not words or words == ["/knowledge"]:
            continue
        if len(words) == 1 and words[0] in ("addtemporal", "forbiddirect", "requiredirect"):
            section = words[0]
        elif section == "addtemporal":
            level, alone = words[0].removesuffix("*"), words[0].endswith("*")
            if not (level.isascii() and level.isdigit() and len(level) < 10):
                raise InputError(f"line {number} of {where} must begin with the number of a tier; got {words[0]!r}")
            members = _plain(words[1:], number, where)
            tiers.setdefault(int(level), []).extend(members)
            if alone and len(members) > _MOST_APART:
                raise InputError(
                    f"line {number} of {where} forbids all edges among {len(members)} columns; at most {_MOST_APART} "
                    "can be kept apart so"
                )
            forbidden += permutations(members, 2) if alone else []
        elif section in ("forbiddirect", "requiredirect") and len(words) == 2:
            source, target = _plain(words, number, where)
            (required if section == "requiredirect" else forbidden).append((source, target))
        else:
            raise InputError(f"line {number} of {where} cannot be read: {line.strip()!r}")
    return Constraints(required, forbidden, [tiers[level] for level in sorted(tiers)])


def _plain(words: Sequence[str], number: int, where: str) -> list[str]:
    wild = [word for word in words if "*" in word]
    if wild:
        raise InputError(f"line {number} of {where} has the pattern {wild[0]!r}: write the names out")
    return list(words)
