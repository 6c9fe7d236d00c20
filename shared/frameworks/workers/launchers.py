"""Each framework's own way to start workers on this machine: torchrun, a cluster of TensorFlow, virtual devices of JAX."""

import json
import os
import sys
import tempfile
from typing import Any

from shared import private
from shared.checks import check_positive
from shared.frameworks.workers.commands import follow_parent, run
from shared.frameworks.workers.network import free_ports, leave_network

STORE = "THREE_WAYS_STORE"  # the file through which PyTorch's workers find one another on one machine
OPEN_NETWORK = "THREE_WAYS_OPEN_NETWORK"  # set to 1 by a reader who lets TensorFlow's workers be reached from outside


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
        changes = {**private.no_port_of_torchrun(), STORE: f"{folder}/store", "TORCHELASTIC_ERROR_FILE": ""}
        [written] = run([command], [changes], timeout)
    return written


def cluster(module: str, *arguments: Any, workers: int = 2, timeout: float = 120) -> str:
    """Do what `python -m MODULE ARGUMENTS` does, once for each worker of a TensorFlow cluster.

    TensorFlow's workers listen on all interfaces, whatever address they are given, and trust everybody. So they run in a network
    of their own (`leave_network`). Where the system gives them none, they are not started, unless the environment has
    THREE_WAYS_OPEN_NETWORK=1.

    Args:
        module: has a function `main` that reads the arguments from `sys.argv`.

    Returns:
        What the workers wrote.

    Raises:
        RuntimeError, TimeoutError: as `run`; RuntimeError also if the workers would be open to the network.
    """
    addresses = {"worker": [f"127.0.0.1:{port}" for port in free_ports(workers)]}
    configs = [{"cluster": addresses, "task": {"type": "worker", "index": index}} for index in range(workers)]
    start = f"from {__name__} import _start_cluster as start; start()"
    launcher = [sys.executable, "-c", start, module, json.dumps([configs, timeout]), *arguments]
    [written] = run([launcher], [{"KERAS_BACKEND": "tensorflow"}], timeout)
    return written


def _start_cluster() -> None:
    """What `cluster` starts: a process that leaves the network, and starts the workers."""
    _, module, config, *arguments = sys.argv
    tasks, timeout = json.loads(config)
    if not leave_network() and os.environ.get(OPEN_NETWORK) != "1":
        sys.exit(
            "TensorFlow's workers were not started. They listen on every network of this machine and obey anyone who connects, and "
            "this system gives them no network of their own.\n"
            f"Where you trust everyone who can reach this machine, allow it: os.environ['{OPEN_NETWORK}'] = '1' before this cell, "
            f"or {OPEN_NETWORK}=1 before the command."
        )
    follow_parent()
    environments = [{"TF_CONFIG": json.dumps(task)} for task in tasks]
    try:
        print(*run([_main_of(module, *arguments)] * len(tasks), environments, timeout), sep="", end="")
    except (RuntimeError, TimeoutError) as error:
        sys.exit(str(error))


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
