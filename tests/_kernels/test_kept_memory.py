"""Memory that is freed is used again, and not mapped and cleared by the system each time."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

CODE = """
import resource
import numpy as np
from badac._kernels.kept_memory import keep_freed_memory
if {kept}:
    keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def step():
    # Blocks of a step: four of 4 MB, all freed at its end.
    blocks = [np.ones(500_000) for _ in range(4)]
step()
before = faults()
for _ in range(30):
    step()
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of the C library of Linux")
def test_blocks_that_come_and_go_are_not_mapped_again() -> None:
    # Nor another malloc, such as a sanitizer's.
    given = {
        name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "LD_PRELOAD"))
    }

    def faults(kept: bool) -> int:
        run = [sys.executable, "-c", CODE.format(kept=kept)]
        return int(subprocess.run(run, env=given, capture_output=True, text=True, check=True).stdout)

    # 16 MB in pages of 4 KiB are 3,900; NumPy may ask for huge pages.
    assert faults(kept=True) < 30
    assert faults(kept=False) > 100
