"""Kernels for processors with narrower vectors than this one, which numba compiles when it is told to."""
import os
import platform
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

SOME = [                          # nodal DG, a limiter of modal DG, Hermite's series, sums and products
    "test_kernels.py::test_fused_agrees_with_the_reference[maxwellTM-3]",
    "test_limiters.py::test_the_fused_limiter_of_rough_states[2-1-barth-jespersen-characteristic-kxrcf-float32]",
    "test_hermite_kernels.py::test_fused_equals_the_reference[2D-Acoustics-1-float64]",
    "test_hermite_products.py::test_fused_equals_the_reference[2D-Acoustics-1-float32]",
]
MORE = [["test_hermite_kernels.py"], ["test_hermite_sums.py", "test_hermite_row_interpolation.py", "test_hermite_remainder.py"],
        ["test_limiters.py"]]


@pytest.mark.thorough
@pytest.mark.parametrize("processor, width, tests", [
    ("haswell", 32, SOME), *(("x86-64", 16, tests) for tests in (SOME, *MORE))],
                         ids=["32", "16", "16 Hermite", "16 parts of Hermite", "16 limiters"])
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="processors of another kind are named")
def test_kernels_agree_with_the_reference_at_this_width(processor, width, tests):
    if processor == "haswell" and not llvm.get_host_cpu_features().get("avx2"):
        pytest.skip("this processor has no vectors of 32 bytes")
    here = Path(__file__).parent
    environment = os.environ | {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
    code = "from dgarray.backends.cpu.simd.target import vector_bytes; print(vector_bytes())"
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert int(found.stdout) == width
    some = ["-m", "", "--all-combinations"] if tests is SOME else []
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *some,
                           *(str(here / test) for test in tests)],
                          env=environment, capture_output=True, text=True, cwd=here.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout
