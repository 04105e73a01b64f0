"""The one adapter to Dask: rows that stay with its workers, and work that is spread over them."""

from __future__ import annotations

import functools
import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any, TypeVar

from psidag.data.scans import Rows
from psidag.system.errors import InputError
from psidag.system.parallel import Workers, one_blas_thread

Item = TypeVar("Item")
Result = TypeVar("Result")
Part = TypeVar("Part")


class Cluster:
    """The workers of a Dask cluster as a :class:`~psidag.system.parallel.Mapper`; made by :func:`cluster`."""

    def __init__(self, client: Any, folder: str | Path | None = None) -> None:
        self.client = client
        self.folder = folder
        self._parcel: Any = None

    @property
    def jobs(self) -> int:
        """How many pieces are worked on at a time, as workers come and go."""
        return max(1, int(sum(self.client.nthreads().values())))

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """``[work(item) for item in items]`` on the workers; what one that is lost had done is done again."""
        import cloudpickle

        pieces = list(items)
        packed = cloudpickle.dumps(work)
        key = f"psidag-{hashlib.blake2b(packed, digest_size=16).hexdigest()}"
        # The work travels once to each worker, as the result of a task: such a one can be made again if it is lost.
        # It is kept until there is other work, so that the same work on more items does not travel again.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            self._parcel = self.client.submit(_same, packed, key=key)
        futures = self.client.map(_perform, [self._parcel] * len(pieces), pieces, pure=False)
        done: list[Result] = self.client.gather(futures)
        return done

    def __repr__(self) -> str:
        return f"Cluster({self.client!r})"


@contextmanager
def cluster(where: Any = None, folder: str | Path | None = None) -> Iterator[Cluster]:
    """A Dask cluster to spread work over, given as ``n_jobs`` to whatever takes it.

    Parameters
    ----------
    where : str, Client or int, optional
        Address of a scheduler; a Dask client, which is left open; or a number of processes to start on this machine
        for as long as the ``with`` block lasts. By default the current client, or else a process for each core.
        psidag must be installed where the workers run.
    folder : str or Path, optional
        A folder that all workers see. What they need of a wide table is put there for as long as it is needed, and each
        reads its own columns; without one it travels to each of them. Processes on this machine use that for temporary
        files.

    Examples
    --------
    >>> from psidag import cluster, fit_order
    >>> with cluster(2) as machines:  # doctest: +SKIP
    ...     solution = fit_order(rows, order, n_jobs=machines)
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise InputError("a cluster needs Dask: pip install 'psidag[dask]'") from None
    if where is None:
        where = _current_client()
    if isinstance(where, Client):
        yield Cluster(where, folder)
    elif isinstance(where, str):
        try:
            client = Client(where)
        except (OSError, ValueError) as error:
            raise InputError(
                f"no Dask scheduler answers at {where!r} ({error}): the address looks like tcp://host:8786"
            ) from None
        with client:
            yield Cluster(client, folder)
    elif where is None or isinstance(where, int):
        with (
            LocalCluster(n_workers=where, threads_per_worker=1, processes=True, dashboard_address=None) as machines,
            Client(machines) as client,
        ):
            yield Cluster(client, folder or gettempdir())
    else:
        raise InputError(f"a cluster is an address, a Dask client or a number of processes; got {where!r}")


class DaskRows:
    """The blocks of a Dask array or the partitions of a Dask DataFrame, from first to last."""

    here = False

    def __init__(self, pieces: Sequence[Any], convert: Callable[[Any], Any] | None = None) -> None:
        self._pieces = pieces
        # What is made of a piece where it is: its rows, or more than those.
        self._convert = convert or _as_rows

    def __iter__(self) -> Iterator[Any]:
        for piece in self._pieces:
            yield self._convert(piece.compute())

    def reduce(
        self, work: Callable[[Any], Part], merge: Callable[[Part, Part], Part], workers: Workers | None = None
    ) -> Part:
        """Each piece is worked on where it is; neighbours are merged, then pairs of them, and so on."""
        from dask.delayed import delayed

        each, both = delayed(_reduced, pure=False), delayed(merge, pure=False)
        parts = [each(work, self._convert, piece) for piece in self._pieces]
        while len(parts) > 1:
            last = parts[-1:] if len(parts) % 2 else []
            parts = [both(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)] + last
        result: Part = parts[0].compute()
        return result


def partitions(data: Any) -> tuple[DaskRows, tuple[str, ...]]:
    """The rows of a Dask array or DataFrame, and its column names; nothing is computed."""
    from psidag.data.containers import as_rows

    if hasattr(data, "dtypes"):
        _, names = as_rows(data._meta)
        return DaskRows(data.to_delayed()), names
    if getattr(data, "ndim", None) != 2:
        raise InputError(f"a Dask array of rows and columns, or a Dask DataFrame, is needed; got {data!r}")
    names = tuple(f"x{k}" for k in range(int(data.shape[1])))
    return DaskRows(data.rechunk({1: -1}).to_delayed().ravel().tolist()), names


def _as_rows(piece: Any) -> Rows:
    from psidag.data.containers import as_rows

    return as_rows(piece)[0]


def _reduced(work: Callable[[Any], Part], convert: Callable[[Any], Any], piece: Any) -> Part:
    with one_blas_thread():
        return work(convert(piece))


def _current_client() -> Any:
    from distributed import Client

    try:
        return Client.current()
    except ValueError:
        return None


def _same(value: Any) -> Any:
    return value


def _perform(parcel: bytes, item: Any) -> Any:
    with one_blas_thread():
        return _unpacked(parcel)(item)


@functools.lru_cache(maxsize=1)
def _unpacked(parcel: bytes) -> Callable[[Any], Any]:
    import pickle

    work: Callable[[Any], Any] = pickle.loads(parcel)
    return work
