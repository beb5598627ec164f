"""Workers change nothing but the time: rows, errors and ends are those of one thread."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import graphc.dataset as ds
from graphc import DataError
from graphc.dataset.workers import processes
from tests.dataset.conftest import alive
from tests.dataset.sources import Growing, Samples, fail_at_seven, noisy, total

ROOT = Path(__file__).parents[2]
THREADS = {"num_parallel_workers": 3, "python_multiprocessing": False}
PROCESSES = {"num_parallel_workers": 2, "python_multiprocessing": True}


@pytest.fixture(autouse=True)
def _fork(monkeypatch):
    """Processes begin as copies of this one where it is single-threaded: fast. `test_spawned_processes` starts new ones."""
    ds.config.set_multiprocessing_start_method("fork")


def rows(dataset, epochs=2):
    iterator = dataset.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    return [[v.tolist() for v in row] for _ in range(epochs) for row in iterator]


def raise_in(dataset):
    for _ in dataset:
        raise ZeroDivisionError


def pipelines(workers):
    """The same data sets with these workers."""
    source = ds.GeneratorDataset(Samples(), ["x", "y"], **workers)
    plain = ds.GeneratorDataset(Samples(), ["x", "y"])
    return {
        "source": source,
        "batches": source.batch(7),
        "random map": plain.map(noisy, "x", **workers).batch(7),
        "map of batches": plain.batch(7).map(noisy, "x", **workers),
        "collated": plain.batch(7, per_batch_map=total, **workers),
        "shuffled": source.map(noisy, "x", **workers).shuffle(8).repeat(2).batch(5, drop_remainder=True),
        "ragged and text": ds.GeneratorDataset(Growing(9), ["x", "y"], **workers),
        "batch_sampler": ds.GeneratorDataset(Samples(), ["x", "y"], batch_sampler=[[1, 2], [3]], **workers),
    }


@pytest.mark.parametrize("workers", [THREADS, PROCESSES], ids=["threads", "processes"])
def test_rows_do_not_depend_on_workers(workers):
    ds.config.set_seed(5)
    alone, together = pipelines({"num_parallel_workers": 1}), pipelines(workers)
    for title in alone:
        assert rows(together[title]) == rows(alone[title]), title


def test_rows_do_not_depend_on_shared_memory_or_debug_mode():
    ds.config.set_seed(5)
    expected = rows(pipelines(PROCESSES)["batches"])
    ds.config.set_enable_shared_mem(False)
    assert rows(pipelines(PROCESSES)["batches"]) == expected
    ds.config.set_debug_mode(True, [])
    assert rows(pipelines(PROCESSES)["batches"]) == expected


def test_random_numbers_differ_between_samples_and_passes():
    ds.config.set_seed(5)
    source = ds.NumpySlicesDataset(np.zeros((50, 1, 1)), ["x"])
    drawn = [r[0][0][0] for r in rows(source.map(noisy, "x"))]
    assert len(set(drawn)) == 100
    assert abs(np.mean(drawn) - 0.5) < 0.1


def test_spawned_processes():
    ds.config.set_multiprocessing_start_method("spawn")
    ds.config.set_seed(5)
    assert rows(pipelines(PROCESSES)["batches"]) == rows(pipelines({"num_parallel_workers": 1})["batches"])


@pytest.mark.parametrize("workers", [{}, THREADS, PROCESSES], ids=["one", "threads", "processes"])
def test_exceptions_of_a_source(workers):
    dataset = ds.GeneratorDataset(Samples(bad=5), ["x", "y"], shuffle=False, **workers)
    iterator = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert [int(next(iterator)[1]) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(DataError, match=r"\[GC200\] .* at sample 5 raised KeyError: 'no such sample'") as caught:
        next(iterator)
    assert caught.value.sample == "5"
    assert caught.value.loc.file.endswith("sources.py")
    assert 'raise KeyError("no such sample")' in str(caught.value)
    assert "KeyError" in f"{caught.value.__cause__!r}"
    assert len(str(caught.value).splitlines()) <= 15


@pytest.mark.parametrize("workers", [{}, THREADS, PROCESSES], ids=["one", "threads", "processes"])
def test_exceptions_of_a_transform(workers):
    dataset = ds.GeneratorDataset(Samples(), ["x", "y"], shuffle=False).map(fail_at_seven, "x", **workers)
    with pytest.raises(DataError, match=r"map of column 'x' at sample 7 raised ValueError: seven"):
        rows(dataset)


def _bad_in_a_block(form):
    """Five good rows, then one that fails, in the middle of a block of rows that are read at once."""
    bad = ds.GeneratorDataset(Samples(bad=5), ["x", "y"], shuffle=False)
    good = ds.NumpySlicesDataset((np.arange(50),), ["z"], shuffle=False)
    if form == "zip":
        return ds.zip((good, bad))
    if form == "filter":
        return good.filter(lambda z: z < 100 if z != 5 else fail_at_seven(np.full((1, 1), 7)))
    return bad.batch(1) if form == "batch" else bad.concat(bad)


@pytest.mark.parametrize("form", ["zip", "filter", "batch", "concat"])
def test_rows_before_one_that_fails_are_given(form):
    given = []
    with pytest.raises(DataError, match="GC200"):
        given.extend(_bad_in_a_block(form).create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert len(given) == 5


def test_a_zip_that_ends_before_a_row_fails_is_whole():
    bad = ds.GeneratorDataset(Samples(bad=5), ["x", "y"], shuffle=False)
    short = ds.NumpySlicesDataset((np.arange(3),), ["z"], shuffle=False)
    assert len(rows(ds.zip((bad, short)), epochs=1)) == 3


def test_a_killed_worker_is_an_error():
    iterator = ds.GeneratorDataset(Samples(2000, slow=0.001), ["x", "y"], **PROCESSES).create_tuple_iterator()
    next(iterator)
    victim = multiprocessing.active_children()[0].pid
    os.kill(victim, signal.SIGKILL)
    with pytest.raises(DataError, match=rf"\[GC202\] worker process {victim} .* was killed by signal 9"):
        list(iterator)
    with pytest.raises(DataError, match="was killed"):
        next(iterator)


def test_a_worker_that_dies_of_a_sample_is_an_error():
    with pytest.raises(DataError, match="GC202"):
        rows(ds.GeneratorDataset(Samples(killer=30), ["x", "y"], shuffle=False, **PROCESSES))


@pytest.mark.parametrize("workers", [{}, THREADS, PROCESSES], ids=["one", "threads", "processes"])
def test_workers_are_gone_after_break_close_and_exception(workers):
    dataset = ds.GeneratorDataset(Samples(1000), ["x", "y"], **workers).map(noisy, "x", **workers).batch(2)
    open_files = len(os.listdir("/proc/self/fd"))
    for _ in dataset:
        break
    gc.collect()
    assert alive() == []
    with dataset.create_dict_iterator() as iterator:
        next(iterator)
    assert alive() == []
    with pytest.raises(DataError, match="closed"):
        next(iterator)
    iterator = dataset.create_tuple_iterator()
    next(iterator)
    del iterator
    gc.collect()
    assert alive() == []
    with pytest.raises(ZeroDivisionError):
        raise_in(dataset)
    gc.collect()
    assert alive() == []
    assert len(os.listdir("/proc/self/fd")) <= open_files
    assert len(rows(dataset, 1)) == 500


def test_what_is_read_ahead_is_bounded():
    taken = []

    class Watched(Samples):
        def __getitem__(self, i):
            taken.append(i)
            return super().__getitem__(i)

    ds.config.set_prefetch_size(3)
    iterator = ds.GeneratorDataset(Watched(1000), ["x", "y"]).batch(2).create_tuple_iterator()
    next(iterator)
    time.sleep(0.1)
    assert len(taken) <= 2 * (3 + 2)
    iterator.close()


def test_ctrl_c_ends_the_workers(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import multiprocessing, sys
        import graphc.dataset as ds
        from tests.dataset.sources import Samples
        if __name__ == "__main__":
            iterator = ds.GeneratorDataset(Samples(10**6, slow=0.01), ["x", "y"], num_parallel_workers=2).create_tuple_iterator()
            next(iterator)
            try:
                print(*[p.pid for p in multiprocessing.active_children()], flush=True)
                for row in iterator:
                    pass
            except KeyboardInterrupt:
                print("interrupted", flush=True)
                sys.exit(7)
        """)
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'codegen'}"}
    process = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,
    )  # fmt: skip
    workers = [int(pid) for pid in process.stdout.readline().split()]
    assert len(workers) == 2
    # As a terminal does: to all of them.
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (out, process.returncode, err) == ("interrupted\n", 7, "")
    for pid in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_what_cannot_be_sent_to_a_process_is_done_by_threads_and_said(caplog):
    ds.config.set_multiprocessing_start_method("spawn")
    dataset = ds.GeneratorDataset(Samples(4), ["x", "y"], shuffle=False)
    mapped = dataset.map(lambda x: x + 1, "x", num_parallel_workers=2, python_multiprocessing=True)
    processes_said = "map: python_multiprocessing has no effect: threads are used, for it cannot be sent to a process"
    assert [r[0][0][0] for r in rows(mapped, 1)] == [1, 2, 3, 4]
    assert any(r.getMessage().startswith(processes_said) for r in caplog.records) or _was_said("map")


def _was_said(owner):
    from graphc.validation import unused_arguments

    return (owner, "python_multiprocessing") in unused_arguments._said


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("import os\nprint(os)\n", False),
        ("import os\nif __name__ == '__main__':\n    print(os)\n", True),
        ("def f():\n    return 1\n", True),
        ("not a program (", True),
    ],
)
def test_programs_without_a_guard_are_not_run_again(tmp_path, text, guarded):
    program = tmp_path / "program.py"
    program.write_text(text)
    assert processes._is_guarded(str(program)) is guarded


def test_a_program_without_a_guard_uses_threads(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import graphc.dataset as ds\nfrom tests.dataset.sources import Samples\n"
        "d = ds.GeneratorDataset(Samples(3), ['x', 'y'], num_parallel_workers=2, shuffle=False)\n"
        "print([int(r[1].item()) for r in d])\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'codegen'}"}
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, env=environment, check=True, timeout=60
    )
    assert done.stdout == "[0, 1, 2]\n"
    assert "would run all of it again" in done.stderr


def test_the_child_of_a_fork_does_not_wait_for_a_thread_of_its_parent():
    iterator = (
        ds.GeneratorDataset(Samples(400), ["x", "y"], **THREADS).map(noisy, "x", **THREADS).create_tuple_iterator()
    )
    next(iterator)
    child = os.fork()
    if not child:
        try:
            signal.alarm(20)
            for _ in iterator:
                pass
        except DataError as error:
            os._exit(7 if "in another process" in str(error) else 8)
        finally:
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert sum(1 for _ in iterator) == 399
