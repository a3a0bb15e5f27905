"""Keep freed memory in the process, by settings of glibc's allocator.

By default, glibc returns large freed blocks to the system. In the next training step, the system zeroes them
again, page by page. For the model `small`, this takes an eighth of the step's time.
"""

import ctypes

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
"""Parameters of mallopt(3): maximum free memory at the end of the heap, step by which the heap grows, and
maximum number of blocks outside the heap."""
GROWTH_BYTES = 64 << 20
KEPT_BYTES = 2**31 - 1


def keep_freed() -> bool:
    """Keep up to 2 GiB of freed memory in this process, and return whether the C library supports it.

    Peak memory and computed numbers stay the same. C libraries other than glibc don't support it.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # macOS, Windows, musl
        return False
    settings = ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, KEPT_BYTES), (M_TOP_PAD, GROWTH_BYTES))
    return all(mallopt(parameter, value) for parameter, value in settings)
