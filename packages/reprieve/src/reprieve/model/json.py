"""An object of JSON under one name for all layers: decoded and not yet a record, or about to be encoded."""

from typing import Any

Json = dict[str, Any]
