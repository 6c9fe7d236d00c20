"""Worker processes on this machine: started on the loopback interface alone, stopped by a time limit, and ended whatever happens.

Two ways to start them. `spawn` runs a function of a module in several processes, as NumPy's notebook needs it. `run` starts
commands, one for each process; `torchrun` starts PyTorch's own launcher with it, and `cluster` the workers of TensorFlow, which
are copies of one process where that is safe, because TensorFlow takes seconds to import.

A worker's standard input is a pipe of which the process that started it holds the other end. However that one ends, the pipe is
closed, and `follow_parent`, which every worker calls first, ends the worker.
"""

import contextlib
import ctypes
import importlib
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from shared.checks import check_number, check_positive

PACKAGES = Path(__file__).resolve().parents[2]  # where this package is found, in a checkout that is not installed, too
FOLLOWS = "THREE_WAYS_WORKER"  # set for a worker that must not outlive the process that started it
STORE = "THREE_WAYS_STORE"  # the file through which PyTorch's workers find one another on one machine


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


def loopback() -> str | None:
    """The name of the interface that leads nowhere but to this machine; None where it has no such name, as on Windows."""
    with contextlib.suppress(OSError, AttributeError):
        return next((name for _, name in socket.if_nameindex() if name in ("lo", "lo0")), None)
    return None


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on, all different."""
    check_positive(count=count)
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


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
                    raise RuntimeError(f"worker {index} failed ({_status(process.returncode)}):\n{_last_lines(file)}")
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


def _status(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"ended by {signal.Signals(-code).name}"
    return f"exit status {code}"


def torchrun(module: str, *arguments: Any, workers: int = 2, max_restarts: int = 0, timeout: float = 120) -> str:
    """Start `torchrun --nproc-per-node=WORKERS -m MODULE ARGUMENTS` on this machine, and wait for its end.

    What the bare command would do over TCP ports of all interfaces is done by files in a temporary folder.

    Returns:
        What the workers wrote.

    Raises:
        RuntimeError, TimeoutError: as `run`.
    """
    check_positive(workers=workers)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={workers}"]
        command += ["--rdzv-backend=c10d", f"--rdzv-endpoint={folder}/meet", "--rdzv-conf=store_type=file"]
        command += [f"--max-restarts={max_restarts}", "--monitor-interval=0.1", "-m", module, *arguments]
        # without the first, torchrun opens a port on all interfaces beside the file
        changes = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", STORE: f"{folder}/store", "TORCHELASTIC_ERROR_FILE": ""}
        [written] = run([command], [changes], timeout)
    return written


def leave_network() -> bool:
    """Move this process, and those that it starts, to a network that has nothing but a loopback interface.

    Returns:
        Whether it worked: on Linux, where users may have namespaces of their own. Otherwise nothing has changed.
    """
    if sys.platform != "linux":
        return False
    # a child tries it first: some systems give a network, and not the right to switch its loopback interface on
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            _unshare_network()
            os._exit(0)
        os._exit(1)
    if os.waitpid(child, 0)[1]:
        return False
    _unshare_network()
    return True


def _unshare_network() -> None:
    """`leave_network`, or OSError somewhere on the way."""
    import fcntl

    new_user, new_network = 0x10000000, 0x40000000  # their numbers in sched.h
    user, group = os.getuid(), os.getgid()
    if ctypes.CDLL(None, use_errno=True).unshare(new_user | new_network):
        raise OSError(ctypes.get_errno(), "unshare")
    with contextlib.suppress(OSError):  # keep the names of user and group; nothing here depends on them
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        set_flags, up = 0x8914, 0x1  # in sockios.h and if.h
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sH14x", b"lo", up))


def cluster(module: str, *arguments: Any, workers: int = 2, timeout: float = 120) -> str:
    """Do what `python -m MODULE ARGUMENTS` does, once for each worker of a TensorFlow cluster.

    TensorFlow's workers listen on all interfaces, whatever address they are given, and trust everybody. So they run in a network
    of their own, where the system allows it; see `leave_network`.

    Args:
        module: has a function `main` that reads the arguments from `sys.argv`.

    Returns:
        What the workers wrote.

    Raises:
        RuntimeError, TimeoutError: as `run`.
    """
    addresses = {"worker": [f"127.0.0.1:{port}" for port in free_ports(workers)]}
    told = [{"cluster": addresses, "task": {"type": "worker", "index": index}} for index in range(workers)]
    start = f"from {__name__} import _start_cluster as start; start()"
    launcher = [sys.executable, "-c", start, module, json.dumps([told, timeout]), *arguments]
    [written] = run([launcher], [{"KERAS_BACKEND": "tensorflow"}], timeout)
    return written


def _start_cluster() -> None:
    """What `cluster` starts: a process that leaves the network, imports the module, and becomes as many as there are workers."""
    _, module, told, *arguments = sys.argv
    tasks, timeout = json.loads(told)
    environments = [{"TF_CONFIG": json.dumps(task)} for task in tasks]
    leave_network()
    importlib.import_module("shared.notebook")  # TensorFlow comes after triton, and says nothing
    main = importlib.import_module(module).main
    if not _has_one_thread():  # a copy of a process with several may wait forever for one that it doesn't have
        follow_parent()
        commands = [_main_of(module, *arguments)] * len(tasks)
        try:
            print(*run(commands, environments, timeout), sep="", end="")
        except (RuntimeError, TimeoutError) as error:
            sys.exit(str(error))
        return
    sys.argv = [module, *arguments]
    workers = {_copy_of_this_process(main, changes): index for index, changes in enumerate(environments)}
    follow_parent()
    while workers:
        process, status = os.wait()
        if status:
            sys.exit(f"worker {workers[process]} failed ({_status(os.waitstatus_to_exitcode(status))})")
        del workers[process]


def _has_one_thread() -> bool:
    """Whether this process can be copied; only Linux tells."""
    with contextlib.suppress(OSError):
        return len(os.listdir("/proc/self/task")) == 1
    return False


def _copy_of_this_process(function: Callable, changes: dict[str, str]) -> int:
    """The number of a new process that calls the function with a changed environment, and ends."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        os.environ.update(changes)
        function()
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, this process ends here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def virtual_devices(module: str, *arguments: Any, workers: int = 2, timeout: float = 120) -> str:
    """Start `python -m MODULE ARGUMENTS` with Keras on JAX, which sees so many devices: parts of the one CPU.

    Returns:
        What it wrote.

    Raises:
        RuntimeError, TimeoutError: as `run`.
    """
    check_positive(workers=workers)
    # compiled code is used for a few steps: the second makes it sooner, not faster
    flags = f"--xla_force_host_platform_device_count={workers} --xla_backend_optimization_level=0"
    changes = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    [written] = run([_main_of(module, *arguments)], [changes], timeout)
    return written


def _main_of(module: str, *arguments: Any) -> list:
    """The command that does what `python -m MODULE ARGUMENTS` does, as quietly as a notebook."""
    return [sys.executable, "-c", f"import shared.notebook; from {module} import main; main()", *arguments]


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
                    status = _status(processes[rank].exitcode or 0)
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
