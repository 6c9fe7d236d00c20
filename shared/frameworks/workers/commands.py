"""Commands that run side by side as processes, and end, and what they have started, whatever happens.

A worker's standard input is a pipe of which the process that started it holds the other end. However that one ends, the pipe is
closed, and `follow_parent`, which every worker calls first, ends the worker.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shared.checks import check_number
from shared.frameworks.workers.network import loopback

PACKAGES = Path(__file__).resolve().parents[3]  # where this package is found, in a checkout that is not installed, too
FOLLOWS = "THREE_WAYS_WORKER"  # set for a worker that must not outlive the process that started it


def follow_parent() -> None:
    """End this process as soon as the one that started it has ended; nothing happens in a process started by hand."""
    if FOLLOWS not in os.environ:
        return

    def wait() -> None:
        with contextlib.suppress(OSError, ValueError):
            while os.read(0, 4096):
                pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _environment(changes: dict[str, str]) -> dict[str, str]:
    """What a worker starts with: this package, one thread, the loopback interface."""
    path = os.pathsep.join(filter(None, (str(PACKAGES), os.environ.get("PYTHONPATH"))))
    # workers that write to one file without a buffer mix the words of their lines
    dropped = ("TF_CONFIG", "XLA_FLAGS", "MPLBACKEND", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    kept |= {"PYTHONPATH": path, FOLLOWS: "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if name := loopback():
        kept |= {"GLOO_SOCKET_IFNAME": name, "TP_SOCKET_IFNAME": name}
    return kept | {name: str(value) for name, value in changes.items()}


def _end(processes: Sequence[subprocess.Popen]) -> None:
    """End processes and their children: close the pipe that they follow, ask, and then insist."""
    for each in processes:
        with contextlib.suppress(OSError):
            each.stdin.close()
        if each.poll() is None:
            each.terminate()
    deadline = time.monotonic() + 10
    for each in processes:
        try:
            each.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            each.kill()
            each.wait()


@contextlib.contextmanager
def started(commands: Sequence[Sequence[str]], environments: Sequence[dict[str, str]] | None = None) -> Iterator[list]:
    """Start commands side by side, and end them, and what they have started, when the `with` block is left.

    Args:
        commands: a list of arguments for each process; the first is the program.
        environments: what to change in the environment of each.

    Yields:
        A pair for each process: the `subprocess.Popen`, and the open file to which it writes.
    """
    environments = environments or [{}] * len(commands)
    processes, files = [], []
    try:
        for command, changes in zip(commands, environments, strict=True):
            files.append(tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace"))  # noqa: SIM115 - closed below
            processes.append(
                subprocess.Popen(
                    [str(part) for part in command],
                    env=_environment(changes),
                    stdin=subprocess.PIPE,
                    stdout=files[-1],
                    stderr=subprocess.STDOUT,
                )
            )
        yield list(zip(processes, files))
    finally:
        _end(processes)
        for each in files:
            each.close()


def run(
    commands: Sequence[Sequence[str]],
    environments: Sequence[dict[str, str]] | None = None,
    timeout: float = 120,
) -> list[str]:
    """Run commands side by side to their end.

    Args:
        commands, environments: as for `started`.
        timeout: how many seconds they may take together.

    Returns:
        What each of them wrote.

    Raises:
        RuntimeError: if one fails; the others are ended, and the message has the last lines of its output.
        TimeoutError: if the time is over; all are ended.
    """
    check_number(0, above=True, timeout=timeout)
    deadline = time.monotonic() + timeout
    with started(commands, environments) as workers:
        left = dict(enumerate(workers))
        while left:
            for index, (process, file) in list(left.items()):
                if process.poll() is None:
                    continue
                del left[index]
                if process.returncode:
                    raise RuntimeError(f"worker {index} failed ({status_of(process.returncode)}):\n{_last_lines(file)}")
            if left and time.monotonic() > deadline:
                raise TimeoutError(
                    f"{len(left)} of {len(workers)} workers did not end within {timeout:g} seconds, and were stopped. "
                    "One that waits for a message that nobody sends looks like this."
                )
            time.sleep(0.02)
        return [_written(file) for _, file in workers]


def _written(file: Any) -> str:
    file.seek(0)
    return file.read()


def _last_lines(file: Any, count: int = 12) -> str:
    return "\n".join(_written(file).strip().splitlines()[-count:])


def status_of(code: int) -> str:
    """How a process ended, in words."""
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"ended by {signal.Signals(-code).name}"
    return f"exit status {code}"
