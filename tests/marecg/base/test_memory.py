"""What a process frees, it keeps."""

import subprocess
import sys

import pytest

from marecg.base.memory import keep_freed

FAULTS = """
import resource
import numpy as np
from marecg.base.memory import keep_freed

def use():
    blocks = [np.ones(size << 17) for size in range(1, 37)]  # 1 to 36 MiB

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

keep_freed()
use()
use()
before = faults()
use()
print((faults() - before) * resource.getpagesize() / (666 << 20))
"""


@pytest.mark.slow
def test_blocks_that_are_freed_and_asked_for_again_cost_no_pages():
    if not keep_freed():
        pytest.skip("the C library is not glibc")
    told = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True)
    assert float(told.stdout) < 0.01
