"""Memory allocator settings: keep freed memory in the process.

A training step frees the memory that it allocated, and glibc returns large blocks to the system. In the next
step the system hands them out again, page by page and zeroed. For the model `small`, this takes an eighth of
the step's time.
"""

import ctypes

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
"""Parameters of mallopt(3): the free memory kept at the heap's end, the amount by which the heap grows at a
time, and the number of blocks that may lie outside the heap."""
AT_A_TIME = 64 << 20
MOST = 2**31 - 1


def keep_freed() -> bool:
    """Keep up to 2 GiB of freed memory in this process. Return whether the C library allows it.

    Peak memory and computed numbers stay the same. Other C libraries than glibc are left as they are.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # macOS, Windows, musl
        return False
    return all(mallopt(*pair) for pair in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, MOST), (M_TOP_PAD, AT_A_TIME)))
