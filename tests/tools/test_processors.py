"""Other processors, played by this one: each library is asked which kernels it took."""

import json
import os
import platform
import re
import subprocess
import sys

import processors
import pytest

ON_X86 = platform.machine().lower() in ("x86_64", "amd64")
ASKED = """
import json, threadpoolctl, numpy, torch
blas = [each for each in threadpoolctl.threadpool_info() if each["internal_api"] == "openblas"]
print("asked", json.dumps({
    "OpenBLAS": sorted({each["architecture"] for each in blas}),
    "NumPy": numpy.show_config("dicts")["SIMD Extensions"].get("found", []),
    "ATen": torch.backends.cpu.get_cpu_capability(),
}))
torch.ones(64, 64) @ torch.ones(64, 64)  # MKL says what it took
torch.nn.functional.conv2d(torch.ones(2, 3, 8, 8), torch.ones(8, 3, 3, 3))  # oneDNN, too
import jax
x = jax.numpy.full(64, 1 + 2.0**-12)
# One rounding in place of two leaves 2**-24: the multiply-add that came with AVX2.
print("fused", bool(jax.jit(lambda x, z: x * x + z)(x, 0 * x - (1 + 2.0**-11))[0]))
"""
WITHOUT = {"OPENBLAS_CORETYPE", *processors.variables("old", {}), *processors.variables("avx2", {})}


def kernels(kind: str) -> dict:
    """What each library says in a process that is to compute as this kind of processor."""
    environment = {name: value for name, value in os.environ.items() if name not in WITHOUT - {"OPENBLAS_CORETYPE"}}
    environment |= {"MKL_VERBOSE": "1", "ONEDNN_VERBOSE": "1", **processors.variables(kind, environment)}
    result = subprocess.run([sys.executable, "-c", ASKED], env=environment, capture_output=True, text=True, check=True)
    lines = result.stdout
    found = json.loads(re.search(r"^asked (.+)$", lines, re.MULTILINE)[1])
    found["oneDNN"] = re.findall(r"info,cpu,isa:(.+)$", lines, re.MULTILINE)
    found["MKL"] = re.findall(r"CNR:(\w+)", lines)
    found["XLA's fused multiply-add"] = re.search(r"^fused (\w+)$", lines, re.MULTILINE)[1] == "True"
    return found


@pytest.mark.skipif(not ON_X86, reason="kernels can be chosen on x86-64 only")
def test_an_old_processor_uses_no_kernel_with_avx2():
    found = kernels("old")
    if "OPENBLAS_CORETYPE" not in os.environ:
        assert found["OpenBLAS"] == ["Sandybridge"]
    assert found["NumPy"] == [] and found["ATen"] == "DEFAULT"
    assert all("SSE4.1" in isa for isa in found["oneDNN"])
    assert set(found["MKL"]) <= {"COMPATIBLE"}  # none where PyTorch was built without MKL
    assert not found["XLA's fused multiply-add"]


@pytest.mark.skipif(not ON_X86, reason="kernels can be chosen on x86-64 only")
def test_a_processor_with_avx2_uses_nothing_newer():
    found = kernels("avx2")
    if not kernels("own")["XLA's fused multiply-add"]:
        pytest.skip("this machine has no AVX2")
    if "OPENBLAS_CORETYPE" not in os.environ:
        assert found["OpenBLAS"] == ["Haswell"]
    assert found["NumPy"] == ["X86_V3"] and found["ATen"] == "AVX2"
    assert all(isa.endswith("AVX2") for isa in found["oneDNN"])
    assert found["XLA's fused multiply-add"]


@pytest.mark.parametrize("kind", processors.KINDS)
def test_tensorflow_multiplies_in_bfloat16_as_any_processor(kind):
    code = "import tensorflow as tf; x = tf.ones((8, 8), tf.bfloat16); print(float(tf.matmul(x, x)[0, 0]))"
    environment = {name: value for name, value in os.environ.items() if name not in WITHOUT} | processors.variables(
        kind
    )
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout.strip()) == (0, "8.0")


@pytest.mark.skipif(not ON_X86, reason="kernels can be chosen on x86-64 only")
def test_what_the_environment_has_set_stays():
    preset = {"OPENBLAS_CORETYPE": "Zen", "XLA_FLAGS": "--xla_dump_to=x"}
    chosen = processors.variables("old", preset)
    assert "OPENBLAS_CORETYPE" not in chosen and "OPENBLAS_L2_SIZE" not in chosen
    assert chosen["XLA_FLAGS"] == "--xla_dump_to=x --xla_cpu_max_isa=SSE4_2"
    assert "OPENBLAS_CORETYPE=Zen" in processors.skipped("old", preset)
    assert processors.skipped("old", {}) == processors.skipped("own", preset) == ""
    assert processors.variables("own", preset) == {}


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind='new'"):
        processors.variables("new")
