"""Checkpoints: a run in a file, from which another process goes on and ends with the same bits."""

from __future__ import annotations

import dataclasses
import hashlib
import time
import warnings
from pathlib import Path
from typing import Any, get_args

import numpy as np

from psidag.data.sources import Source, in_memory
from psidag.run.loop import Engine, Snapshot, Task
from psidag.run.status import Round, Status, StatusCode, stored_candidate
from psidag.system.archive import Kind, damage_named, read_archive, write_archive
from psidag.system.atomic import check_writable, remove_leftovers
from psidag.system.errors import CheckpointWarning, InputError, listing
from psidag.system.tree import Arrays, flatten, unflatten

_KIND = Kind("psidag-checkpoint", 1, "psidag checkpoint")
#: Writing takes at most this share of the time.
_SHARE = 0.05
#: Data are recognised by this many numbers of them at the most, of rows at equal distances.
_SAMPLE = 1 << 22


class Checkpoint:
    """Keeps one run in one file, written at an interval and at the end.

    A failure to write is a warning and not the end of the run: the checkpoint before stays, and the next one is
    tried in its turn.

    Parameters
    ----------
    path : str or Path
        The file. Without ``resume`` it must not be there yet.
    interval : float
        Seconds between two checkpoints; more where writing would take more than a twentieth of the time. 0 is after
        every step, whatever it takes.
    resume : bool
        Go on from the file if it is there.
    seeded : bool
        Whether the caller named a seed; if not, the seed in the file serves.
    """

    def __init__(self, path: str | Path, *, interval: float = 60.0, resume: bool = False, seeded: bool = True) -> None:
        if not interval >= 0:
            raise InputError(f"checkpoint_interval must be a number of seconds from 0 on; got {interval!r}")
        self._path = Path(path)
        self._interval = interval
        self._resume = resume
        self._seeded = seeded
        self._warned = False

    def begin(self, engine: Engine, task: Task) -> Snapshot | None:
        """Where the run stands already, or None if it is new; an error if the file belongs to another run."""
        _check_resumable(engine, task.source)
        self._engine, self._task = engine, task
        self._owner = _owner(engine, task)
        check_writable(self._path)
        found = self._read() if self._path.exists() else None
        remove_leftovers(self._path)
        self._due = time.monotonic() + self._interval
        return found

    def keep(self, at: Snapshot, *, last: bool) -> None:
        """Write the run as it stands if it is time, or the end."""
        if not last and time.monotonic() < self._due:
            return
        start = time.monotonic()
        try:
            self._write(at)
        except InputError as error:
            if not self._warned:
                warnings.warn(f"the run goes on without a new checkpoint: {error}", CheckpointWarning, stacklevel=4)
            self._warned = True
        end = time.monotonic()
        self._due = end + (max(self._interval, (end - start) / _SHARE) if self._interval else 0.0)

    def _write(self, at: Snapshot) -> None:
        arrays: Arrays = {}
        engine: Any = self._engine
        run = {
            "state": None if at.state is None else engine.dump(at.state),
            "trace": at.trace,
            "best": at.best,
            "seconds": at.seconds,
            "verdict": at.verdict,
            "random": self._task.rng.bit_generator.state,
        }
        head = {"owner": self._owner, "run": flatten(run, arrays)}
        write_archive(self._path, _KIND, head, arrays)

    def _read(self) -> Snapshot:
        where = repr(str(self._path))
        if not self._resume:
            raise InputError(
                f"there is a checkpoint {where} already: go on from it (resume=True, on the command line --resume), "
                "or remove it"
            )
        head, arrays = read_archive(self._path, _KIND)
        engine: Any = self._engine
        with damage_named(where):
            self._check_owner(head["owner"], where)
            run = unflatten(head["run"], arrays)
            held = run["state"]
            state = None if held is None else engine.restore(self._task, held)
            self._task.rng.bit_generator.state = run["random"]
            verdict = None if run["verdict"] is None else _status(run["verdict"])
            trace = tuple(map(_round, run["trace"]))
            return Snapshot(state, trace, stored_candidate(run["best"], self._task.d), float(run["seconds"]), verdict)

    def _check_owner(self, owner: dict[str, str], where: str) -> None:
        mine = dict(self._owner)
        if not self._seeded:
            # Any seed will do, but a generator of another kind cannot take up its state.
            owner, mine = ({k: v for k, v in each.items() if k != "seed"} for each in (owner, mine))
        if owner.get("psidag") != mine["psidag"]:
            raise InputError(
                f"{where} was written by psidag {owner.get('psidag')}, and this is {mine['psidag']}: bits may differ; "
                "go on with that version, or begin anew with another file"
            )
        strange = [key for key in mine if owner.get(key) != mine[key]]
        if strange:
            raise InputError(
                f"{where} belongs to another run: not the same {listing(strange)}; give the same data and options, "
                "or another file"
            )


def _check_resumable(engine: Engine, source: Source) -> None:
    if not hasattr(engine, "dump") or not hasattr(engine, "restore"):
        raise InputError(f"the engine {engine.name!r} has no dump and restore, and so no checkpoints")
    if engine.needs_rows and not source.can_reread:
        raise InputError(
            f"the {engine.name} engine cannot go on with rows of a stream, which do not come again: give a table or "
            "files, or use an engine on moments"
        )


def _owner(engine: Engine, task: Task) -> dict[str, str]:
    """What a checkpoint belongs to, as short texts that are the same for the same run."""
    from importlib.metadata import version

    known = task.constraints
    return {
        "psidag": version("psidag"),
        "columns": _digest(list(task.source.names)),
        "data": _digest(_traits(task.source, task)),
        "engine": f"{engine.name} {_digest(_options(engine))}",
        "noise": task.score.name,
        "start": _digest(task.start),
        "constraints": _digest([known.required, known.forbidden, known.tier]),
        "seed": f"{type(task.rng.bit_generator).__name__} {_digest(task.rng.bit_generator.state)}",
        "generator": type(task.rng.bit_generator).__name__,
    }


def _traits(source: Source, task: Task) -> list[Any]:
    """What tells data from other data: rows of a table at equal distances (all of a small one), or the moments."""
    if in_memory(source):
        rows = source.X[:: 1 + source.X.size // _SAMPLE]
        return [list(source.X.shape), source.X.dtype.str, np.asarray(rows), source.sample_weight]
    moments = source.moments(task.workers)
    return [moments.count, moments.mean, moments.scatter[:: 1 + moments.scatter.size // _SAMPLE]]


def _options(options: Any) -> Any:
    """The fields of an options object, nested ones included."""
    if dataclasses.is_dataclass(options):
        fields = {field.name: _options(getattr(options, field.name)) for field in dataclasses.fields(options)}
        return {"options": type(options).__name__, **fields}
    return options


def _digest(value: Any) -> str:
    """A short checksum of nested plain values and arrays."""
    arrays: Arrays = {}
    digest = hashlib.sha256(repr(flatten(value, arrays)).encode())
    for array in arrays.values():
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:16]


def _status(held: Any) -> Status:
    code, message = held
    if code not in get_args(StatusCode):
        raise ValueError(f"a run that ended as {code!r}")
    return Status(code, str(message))


def _round(held: Any) -> Round:
    number, seconds, steps, samples, *losses = held
    return Round(int(number), float(seconds), int(steps), int(samples), *map(float, losses))
