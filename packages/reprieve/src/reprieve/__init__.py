"""Reprieve: a Kubernetes scheduler that makes room by disturbing as few as it can.

The names in ``__all__`` are the stable interface for Python; `docs/reference/python.md` describes them, and
what they return. Everything else is private. They are imported on first use, so that `import reprieve` stays
fast.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reprieve.assembly.python_api import Cluster, InquiryError, whatif, whatif_json

__all__ = ["Cluster", "InquiryError", "whatif", "whatif_json"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'reprieve' has no attribute {name!r}")
    from reprieve.assembly import python_api

    return getattr(python_api, name)
