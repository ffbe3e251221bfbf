"""Reprieve: a Kubernetes scheduler that makes room by disturbing as few as it can.

``Cluster`` and ``whatif`` are the stable interface for Python, with the records that they return; everything
else is private. They are imported on first use, so that `import reprieve` stays fast.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reprieve.assembly.python_api import Cluster, InquiryError, whatif

__all__ = ["Cluster", "InquiryError", "whatif"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'reprieve' has no attribute {name!r}")
    from reprieve.assembly import python_api

    return getattr(python_api, name)
