"""What do the garbage collector and the allocator do once all objects are known?

Imports nothing of the product, and knows none of its objects.
"""

import gc

_BLOCK = 16 << 20  # bytes


def settle() -> None:
    """Called once, after the first list: most objects that there are now stay."""
    gc.freeze()  # the collector need not traverse them again and again
    # glibc returns the free end of its heap to the system, and a decision about thousands of nodes needs it
    # again, page by page: that is a fifth of its time. Once a large block was freed, glibc keeps twice as
    # much. The block itself is never touched, and takes no memory.
    bytes(_BLOCK)


def release() -> None:
    """Called when scheduling ends: the objects may go."""
    gc.unfreeze()
