"""What it takes to learn the same graph again."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from psidag.graph.constraints import Constraints

#: A setting that takes more characters than this goes by its name.
_LONGEST = 1000


@dataclass(frozen=True)
class Origin:
    """How a solution came about.

    Attributes
    ----------
    call : str
        The call of the library, with the settings that are not the default.
    seed : int, optional
        The seed, where one was given as a number.
    command : str
        The command line, where there was one.
    versions : mapping of str to str
        Of psidag, Python and the libraries that compute.
    steps : tuple of str
        What was done to the table before, in sentences; see :func:`psidag.prepare`.
    knowledge : str
        What was known beforehand, in words; empty if nothing was.

    Examples
    --------
    >>> Origin.of("learn_dag(data)", {"solver": "auto", "noise": "unequal", "random_state": 1}, {"solver": "auto"}).call
    "learn_dag(data, noise='unequal', random_state=1)"
    """

    call: str
    seed: int | None = None
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    knowledge: str = ""

    @classmethod
    def of(cls, call: str, settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> Origin:
        """The origin of a call that is being made now, to which the settings are added; those by default are left out.

        What cannot be written down in a line, such as the weights of rows, goes by its own name.
        """
        given = [
            f"{key}={_written(key, value)}"
            for key, value in settings.items()
            if not (isinstance(value, str | int | float | None) and value == defaults.get(key))
        ]
        seed = settings.get("random_state")
        head, tail = call.split(")", 1)
        return cls(
            call=f"{head}{', ' if given and not head.endswith('(') else ''}{', '.join(given)}){tail}",
            seed=int(seed) if isinstance(seed, int) else None,
            versions=dict(_versions()),
            knowledge=_told(settings.get("constraints")),
        )

    @classmethod
    def from_dict(cls, held: Mapping[str, Any] | None) -> Origin | None:
        """The origin that :meth:`as_dict` has written."""
        if held is None:
            return None
        seed = held["seed"]
        versions = {str(key): str(value) for key, value in held["versions"].items()}
        return cls(
            str(held["call"]),
            None if seed is None else int(seed),
            str(held["command"]),
            versions,
            tuple(map(str, held.get("steps", ()))),
            str(held.get("knowledge", "")),
        )

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)


def _written(key: str, value: Any) -> str:
    # Arrays and prior knowledge with a million edges are not written out only to be found too long.
    held = vars(value).values() if hasattr(value, "__dict__") else [value]
    long = any(hasattr(part, "__len__") and len(part) > _LONGEST for part in held)
    text = key if long or hasattr(value, "__array__") else repr(value)
    return text if len(text) <= _LONGEST and " at 0x" not in text else key


def _told(constraints: Any) -> str:
    """Prior knowledge in words."""
    if constraints is None:
        return ""
    known = Constraints.of(constraints)
    given = {
        "required edges": known.required_edges,
        "forbidden edges": known.forbidden_edges,
        "tiers": known.tiers,
        "variables without causes": known.exogenous,
        "variables without effects": known.sinks,
    }
    kinds = {kind: 1 if isinstance(what, str) else len(what) for kind, what in given.items()}
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)


@cache
def _versions() -> dict[str, str]:
    """Looked up once: reading what is said of three packages takes milliseconds."""
    from importlib.metadata import version

    return {
        "psidag": version("psidag"),
        "Python": platform.python_version(),
        "NumPy": version("numpy"),
        "SciPy": version("scipy"),
        "system": f"{platform.system()} {platform.machine()}",
    }
