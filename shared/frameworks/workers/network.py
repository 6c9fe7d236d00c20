"""The network of worker processes: the loopback interface of this machine, and nothing else."""

import contextlib
import os
import socket
import sys

from shared import private
from shared.checks import check_positive


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
            private.unshare_network()
            os._exit(0)
        os._exit(1)
    if os.waitpid(child, 0)[1]:
        return False
    private.unshare_network()
    return True
