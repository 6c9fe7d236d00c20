"""Worker processes: they end, whatever happens, they are on the loopback interface alone, and a failure is told in a sentence."""

import os
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from shared.frameworks import processes
from shared.numpy import scaling_out

pytestmark = pytest.mark.chapter("16")

ROOT = Path(__file__).resolve().parents[2]
SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ended(pid: int, seconds: float = 10) -> bool:
    """Whether a process ends within so many seconds."""
    deadline = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_alive(pid)


def test_what_workers_write_is_returned():
    commands = [[sys.executable, "-c", f"print({number})"] for number in range(2)]
    assert processes.run(commands) == ["0\n", "1\n"]


def test_a_worker_that_fails_is_told_and_the_others_end(tmp_path):
    noted = tmp_path / "pid"
    long = [sys.executable, "-c", f"import os, time; open({str(noted)!r}, 'w').write(str(os.getpid())); time.sleep(60)"]
    wait = f"import os, time\nwhile not os.path.exists({str(noted)!r}): time.sleep(0.01)\ntime.sleep(0.2); raise ValueError('no data')"
    with pytest.raises(RuntimeError, match=r"(?s)worker 1\b.*ValueError: no data"):
        processes.run([long, [sys.executable, "-c", wait]])
    assert ended(int(noted.read_text()))


def test_a_worker_that_hangs_is_stopped_by_the_time_limit():
    began = time.monotonic()
    with pytest.raises(TimeoutError, match="1 of 2 workers"):
        processes.run([SLEEPER, [sys.executable, "-c", ""]], timeout=5)
    assert time.monotonic() - began < 60


def test_workers_end_when_the_block_is_left_by_an_interrupt():
    started = []
    with pytest.raises(KeyboardInterrupt), processes.started([SLEEPER, SLEEPER]) as workers:
        started += [process for process, _ in workers]
        raise KeyboardInterrupt
    assert all(process.poll() is not None for process in started)


def test_a_worker_does_not_outlive_a_killed_parent(tmp_path):
    noted = tmp_path / "pid"
    worker = (
        "import os, time; from shared.frameworks.processes import follow_parent; follow_parent();"
        f"open({str(noted)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    )
    parent = f"import sys; from shared.frameworks import processes; processes.run([[sys.executable, '-c', {worker!r}]])"
    process = subprocess.Popen([sys.executable, "-c", parent], cwd=ROOT)
    deadline = time.monotonic() + 30
    while not (noted.exists() and noted.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert ended(int(noted.read_text()))


def test_a_process_started_by_hand_follows_nobody(monkeypatch):
    monkeypatch.delenv(processes.FOLLOWS, raising=False)
    code = "from shared.frameworks.processes import follow_parent; follow_parent(); import time; time.sleep(0.5); print('there')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.stdout == "there\n"


def test_free_ports_are_different_and_free():
    ports = processes.free_ports(3)
    assert len(set(ports)) == 3
    for port in ports:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((9, 8), "workers"), ((2, None, 3), "num_heads"), ((4, None, 4, 6), "d_ff"), ((0,), "workers")],
)
def test_what_cannot_be_divided_is_named(arguments, name):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        processes.check_workers(*arguments)
    processes.check_workers(2, batch_size=2, num_heads=4, d_ff=6)


LISTENING = """
    import os, re, sys, time, torch.distributed as dist
    from shared.frameworks.processes import follow_parent
    from shared.pytorch.scaling_out import join_group
    follow_parent()
    join_group()
    dist.barrier()
    if dist.get_rank() == 0:
        found = []
        for pid in (os.getpid(), os.getppid()):  # this worker, and torchrun
            fds = [f"/proc/{pid}/fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")]
            links = [os.readlink(fd) for fd in fds if os.path.islink(fd)]
            sockets = {each[8:-1] for each in links if each.startswith("socket:")}
            for table in ("tcp", "tcp6"):
                rows = [line.split() for line in open(f"/proc/net/{table}")][1:]
                found += [row[1].split(":")[0] for row in rows if row[3] == "0A" and row[9] in sockets]
        print("listening", os.environ["GLOO_SOCKET_IFNAME"], *found)
    dist.barrier()
    dist.destroy_process_group()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux' lists of sockets")
def test_torchrun_listens_on_the_loopback_interface_alone(tmp_path, monkeypatch):
    (tmp_path / "listening.py").write_text(textwrap.dedent(LISTENING))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    written = processes.torchrun("listening")
    [line] = [line for line in written.splitlines() if line.startswith("listening")]
    _, interface, *addresses = line.split()
    assert interface == "lo"
    assert addresses and set(addresses) <= {"0100007F", "0000000000000000FFFF00000100007F"}  # 127.0.0.1, backwards


ALONE = """
    import os, socket, sys, time
    from shared.frameworks.processes import follow_parent

    print("imported", flush=True)

    def main():
        follow_parent()
        rank = int(os.environ["TF_CONFIG"][-3])
        if sys.argv[1:2] == ["fail"]:
            noted = sys.argv[2]
            while rank == 1 and not os.path.exists(noted):
                time.sleep(0.01)
            if rank == 1:
                raise ValueError("no data")
            with open(noted + "~", "w") as file:
                file.write(str(os.getpid()))
            os.rename(noted + "~", noted)
            time.sleep(60)
        addresses = os.environ["TF_CONFIG"].count("127.0.0.1:")
        print(*(name for _, name in socket.if_nameindex()), addresses, *sys.argv[1:], flush=True)

    if __name__ == "__main__":
        main()
"""


@pytest.fixture
def alone(tmp_path, monkeypatch):
    (tmp_path / "alone.py").write_text(textwrap.dedent(ALONE))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "alone"


def test_workers_of_a_cluster_have_a_task_each(alone):
    lines = processes.cluster(alone, 3, "four", workers=3).splitlines()
    assert lines.count("imported") == 3
    first, *others = (line for line in lines if line != "imported")
    assert first.endswith(" 3 3 four") and others == [first, first]


def test_workers_of_a_cluster_write_whole_lines(tmp_path, monkeypatch):
    (tmp_path / "many.py").write_text(
        "import time\n"
        "def main():\n"
        "    time.sleep(1 - time.time() % 1)  # so that all begin together\n"
        "    for _ in range(300):\n"
        "        print('one', 'two', 'three', flush=True)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    assert processes.cluster("many", workers=2).splitlines() == ["one two three"] * 600


def test_a_worker_of_a_cluster_that_fails_is_told_and_the_others_end(alone, tmp_path):
    noted = tmp_path / "pid"
    with pytest.raises(RuntimeError) as caught:
        processes.cluster(alone, "fail", noted)
    assert "ValueError: no data" in str(caught.value) and "worker 1 " in str(caught.value)
    assert ended(int(noted.read_text()))


def test_a_cluster_that_hangs_is_stopped_by_the_time_limit(alone, tmp_path):
    noted = tmp_path / "pid"
    with pytest.raises(TimeoutError, match="1 of 1 workers"):
        processes.cluster(alone, "fail", noted, workers=1, timeout=2)
    assert ended(int(noted.read_text()))


def test_workers_of_a_cluster_see_no_network_but_the_loopback_interface(alone):
    allowed = subprocess.run(
        [sys.executable, "-c", "from shared.frameworks import processes; print(processes.leave_network())"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    if allowed.stdout != "True\n":
        pytest.skip("this system allows no network of one's own")
    assert processes.cluster(alone).splitlines() == ["imported", "lo 2"] * 2


@pytest.mark.skipif(sys.platform != "linux", reason="here is no network of one's own to be refused")
def test_workers_that_the_network_could_reach_are_not_started_unless_that_is_allowed(alone, tmp_path, monkeypatch):
    refuse = "import fcntl\ndef refuse(*given): raise PermissionError(1, 'not permitted')\nfcntl.ioctl = refuse\n"
    (tmp_path / "sitecustomize.py").write_text(refuse)
    monkeypatch.delenv("THREE_WAYS_OPEN_NETWORK", raising=False)
    with pytest.raises(RuntimeError, match="THREE_WAYS_OPEN_NETWORK") as caught:
        processes.cluster(alone)
    assert "imported" not in str(caught.value)
    monkeypatch.setenv("THREE_WAYS_OPEN_NETWORK", "1")
    assert processes.cluster(alone).count("imported") == 2


REFUSED = """
    import fcntl, socket
    from shared.frameworks import processes
    def refuse(*given):
        raise PermissionError(1, "Operation not permitted")
    fcntl.ioctl = refuse
    before = [name for _, name in socket.if_nameindex()]
    print(processes.leave_network(), before == [name for _, name in socket.if_nameindex()])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has networks of one's own")
def test_where_the_loopback_interface_may_not_be_switched_on_nothing_changes():
    code = textwrap.dedent(REFUSED)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "False True\n"


def test_a_cluster_of_a_module_that_is_not_there_is_told():
    with pytest.raises(RuntimeError, match="no_such_module"):
        processes.cluster("no_such_module")


def test_spawn_returns_what_each_call_returned():
    length = 5
    sums = scaling_out.in_processes(scaling_out.time_ring, 2, length, [1, length], 1)
    assert [len(each) for each in sums] == [2, 2]


def test_spawn_tells_which_worker_failed_and_why():
    with pytest.raises(RuntimeError, match=r"worker [01]\b.*ValueError: 9 numbers"):
        scaling_out.in_processes(scaling_out.time_ring, 2, 5, [9], 1)


def test_spawn_stops_what_hangs():
    with pytest.raises(TimeoutError, match="1 of 1 workers"):
        processes.spawn(hang, 1, timeout=2)


def hang(rank, barrier):
    time.sleep(60)


def test_a_worker_that_ends_at_once_is_found_even_with_long_arguments():
    with pytest.raises(RuntimeError, match=r"worker 0\b.*\b3\b"):
        processes.spawn(leave, 1, np.zeros(10**6))


def leave(rank, barrier, *arguments):
    os._exit(3)


def test_workers_find_this_package():
    assert (processes.PACKAGES / "shared" / "frameworks" / "processes.py") == Path(processes.__file__)
