"""Memory allocator settings: keep freed memory in the process.

A step of training frees what it allocated, and glibc gives large blocks back to the system, which hands them
out again page by page, each zeroed, in the next step. At the size of `small` that is an eighth of the step.
"""

import ctypes

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
"""Parameters of mallopt(3): how much free memory at the heap's end is kept, by how much the heap grows at a
time, and how many blocks may lie outside of it."""
AT_A_TIME = 64 << 20
MOST = 2**31 - 1


def keep_freed() -> bool:
    """Keep up to 2 GiB of freed memory in this process; return whether the C library allows that.

    It needs no more at once than before, and the numbers are the same. What isn't glibc is left as it is.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # macOS, Windows, musl
        return False
    return all(mallopt(*pair) for pair in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, MOST), (M_TOP_PAD, AT_A_TIME)))
