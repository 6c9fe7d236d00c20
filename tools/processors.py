"""How other processors compute: the variables by which each library chooses its kernels, read once, when a process starts.

A claim about learning must hold on every processor; rounding differs from one to the next. These kinds are what one machine
can play: its own best kernels, those of a processor with AVX2 and nothing newer, and those of an old one without AVX2.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping

# OpenBLAS is NumPy's and SciPy's; NPY_* are NumPy's own loops; ATen, oneDNN and MKL are PyTorch's; XLA compiles for TensorFlow
# and JAX. MKL_CBWR's COMPATIBLE is the one setting of MKL that holds on AMD's processors, too. TensorFlow asks the processor, and
# not oneDNN, whether it has bfloat16, and crashes where oneDNN was told to leave it alone: so it computes without oneDNN here.
_VARIABLES = {
    "own": {},
    "avx2": {
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    },
    "old": {
        "OPENBLAS_CORETYPE": "Sandybridge",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "MKL_CBWR": "COMPATIBLE",
        "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",
    },
}
KINDS = tuple(_VARIABLES)


def variables(kind: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What to add to the environment of a process that is to compute as this kind of processor does.

    Where the environment chooses OpenBLAS' kernels already, its choice stays: on such a machine other kernels may compute
    wrongly. On processors other than x86-64 there is nothing to choose.

    Raises:
        ValueError: if kind is not one of KINDS.
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r}: expected one of {', '.join(KINDS)}")
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return {}
    chosen = dict(_VARIABLES[kind])
    if "OPENBLAS_CORETYPE" in environment:
        chosen.pop("OPENBLAS_CORETYPE", None)
    if "XLA_FLAGS" in chosen and environment.get("XLA_FLAGS"):
        chosen["XLA_FLAGS"] = f"{environment['XLA_FLAGS']} {chosen['XLA_FLAGS']}"
    return chosen


def skipped(kind: str, environment: Mapping[str, str] = os.environ) -> str:
    """A sentence on what cannot be chosen here; empty if all can."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return f"{platform.machine()}: kernels can be chosen on x86-64 only"
    if kind != "own" and "OPENBLAS_CORETYPE" in environment:
        return f"OPENBLAS_CORETYPE={environment['OPENBLAS_CORETYPE']} is set already and stays; OpenBLAS' other kernels are skipped"
    return ""
