"""BLAS threads: held to one while anybody learns, and as they were when the last one is done."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from psidag import learn_dag
from psidag.simulate import simulate
from psidag.system.parallel import one_blas_thread, workers


def numbers():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture
def two_threads():
    learn_dag(simulate("ER2", d=4, n=50, seed=0).X)  # so that all libraries are there
    with threadpool_limits(2, user_api="blas"):
        yield numbers()


def test_calls_that_overlap_leave_the_setting_as_it_was(two_threads):
    """The first to come is the first to go, which is what left one thread for ever."""
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    assert set(numbers()) == {1}
    first.__exit__(None, None, None)
    assert set(numbers()) == {1}, "the second call still runs"
    second.__exit__(None, None, None)
    assert numbers() == two_threads


def test_two_fits_in_two_threads(two_threads):
    X = simulate("ER2", d=10, n=300, seed=0).X
    seen, inside, done = [], threading.Barrier(2, timeout=60), threading.Event()

    def fit(last):
        def look(round_, candidate):
            seen.append(set(numbers()))
            if last:
                done.wait(60)
                seen.append(set(numbers()))

        inside.wait()
        learn_dag(X, callback=look, n_jobs=1)
        done.set()

    threads = [threading.Thread(target=fit, args=(last,)) for last in (False, True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen
    assert all(found == {1} for found in seen)
    assert numbers() == two_threads


def test_an_error_leaves_it_as_it_was_too(two_threads):
    with pytest.raises(ValueError, match="rows"), workers(2):
        raise ValueError("rows")
    assert numbers() == two_threads
    assert np.isfinite(np.ones((50, 50)) @ np.ones((50, 50))).all()
