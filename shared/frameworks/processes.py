"""Worker processes on this machine: started on the loopback interface alone, stopped by a time limit, and ended whatever happens.

Two ways to start them. `spawn` runs a function of a module in several processes, as NumPy's notebook needs it. `run` starts
commands, one for each process; `torchrun` starts PyTorch's own launcher with it, and `cluster` the workers of TensorFlow.

In the folder `workers`: commands in `commands.py`, the launchers in `launchers.py`, what concerns the network in `network.py`.
"""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from shared.checks import check_number, check_positive
from shared.frameworks.workers.commands import FOLLOWS, PACKAGES, follow_parent, run, started, status_of
from shared.frameworks.workers.launchers import STORE, cluster, torchrun, virtual_devices
from shared.frameworks.workers.network import free_ports, leave_network

__all__ = [
    "FOLLOWS",
    "PACKAGES",
    "STORE",
    "check_workers",
    "cluster",
    "follow_parent",
    "free_ports",
    "leave_network",
    "run",
    "spawn",
    "started",
    "torchrun",
    "virtual_devices",
]


def check_workers(
    workers: int,
    batch_size: int | None = None,
    num_heads: int | None = None,
    d_ff: int | None = None,
) -> None:
    """Raise ValueError, before a process is started, unless the work can be divided among so many workers.

    Args:
        workers: how many processes.
        batch_size: rows of a batch, of which each worker needs at least one; None if the batch isn't divided.
        num_heads, d_ff: heads of attention and hidden features that are divided evenly; None if they are not.
    """
    check_positive(workers=workers)
    if batch_size is not None and workers > batch_size:
        raise ValueError(f"{workers} workers for a batch of {batch_size} rows: expected at least one row for each")
    for name, size in (("num_heads", num_heads), ("d_ff", d_ff)):
        if size is not None and size % workers:
            raise ValueError(f"{name}={size} can't be divided evenly among {workers} workers")


def spawn(function: Callable, workers: int, *arguments: Any, timeout: float = 60) -> list:
    """Call a function in several processes, and return what each call returned.

    Args:
        function: takes its rank, what `multiprocessing.Barrier` makes for all workers, and the arguments; it must be
            importable, because a new process imports it by its name.
        workers: how many processes.
        arguments: anything that can be pickled.
        timeout: how many seconds they may take.

    Raises:
        RuntimeError: if one fails; the others are ended, and the message says which one and why.
        TimeoutError: if the time is over; all are ended.
    """
    check_positive(workers=workers)
    check_number(0, above=True, timeout=timeout)
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(workers, timeout=timeout + 5)  # the deadline below comes first
    pipes = [context.Pipe() for _ in range(workers)]
    processes = [
        context.Process(target=_report, args=(pipe, function, rank, barrier), daemon=True)
        for rank, (_, pipe) in enumerate(pipes)
    ]
    deadline, results = time.monotonic() + timeout, {}
    before = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    try:
        os.environ.update(dict.fromkeys(before, "1"))  # what a new process starts with
        for each, (ours, theirs) in zip(processes, pipes):
            each.start()
            theirs.close()  # what a worker has not sent when it ends never comes
            # not as arguments of the process: Python would wait forever for one that ends before it has read many of them
            threading.Thread(target=_send, args=(ours, arguments), daemon=True).start()
        while len(results) < workers:
            left = {pipes[rank][0]: rank for rank in range(workers) if rank not in results}
            ready = multiprocessing.connection.wait(left, max(0.0, deadline - time.monotonic()))
            found = {left[pipe]: _received(pipe) for pipe in ready}
            for rank, (kind, value) in found.items():  # before those that ended because this one failed
                if kind == "error":
                    raise RuntimeError(f"worker {rank} failed: {value}")
            for rank, (kind, value) in found.items():
                if kind == "ended":
                    processes[rank].join(5)
                    status = status_of(processes[rank].exitcode or 0)
                    raise RuntimeError(f"worker {rank} ended without a result ({status})")
                results[rank] = value
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{workers - len(results)} of {workers} workers did not end within {timeout:g} seconds, and were stopped. "
                    "One that waits for a message that nobody sends looks like this."
                )
        return [results[rank] for rank in range(workers)]
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        for each in processes:
            if each.pid is not None:
                each.terminate() if len(results) < workers else None
                each.join(5)
                each.kill()
                each.join()
        for ours, _ in pipes:
            ours.close()


def _received(pipe: Any) -> tuple[str, Any]:
    try:
        return pipe.recv()
    except (EOFError, OSError):
        return "ended", None


def _send(pipe: Any, value: Any) -> None:
    with contextlib.suppress(OSError):  # a worker that has ended is found by `spawn`
        pipe.send(value)


def _report(pipe: Any, function: Callable, rank: int, barrier: Any) -> None:
    """What a new process of `spawn` does: call the function, and send what it returns or why it failed."""
    try:
        answer = ("result", function(rank, barrier, *pipe.recv()))
    except threading.BrokenBarrierError:
        return  # another worker failed, and tells why
    except BaseException as error:  # noqa: BLE001 - whatever it is, the parent tells it
        answer = ("error", f"{type(error).__name__}: {error}")
        pipe.send(answer)
        barrier.abort()  # so that nobody waits for this one
        return
    pipe.send(answer)
