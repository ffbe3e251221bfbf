"""The files of the page that a browser loads: HTML, style sheets and modules, from this package alone."""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
INDEX = "index.html"


def static_file(name: str) -> tuple[bytes, str] | None:
    """Its content and its type; None if there is no such file. A name with a path in it is none."""
    found = _by_name().get(name)
    if found is None:
        return None
    suffix = name[name.rfind(".") :]
    return found.read_bytes(), _TYPES[suffix]


@cache
def _by_name() -> dict[str, Traversable]:
    folder = files("reprieve.page").joinpath("static")
    if not folder.is_dir():
        return {}
    return {one.name: one for one in folder.iterdir() if one.name[one.name.rfind(".") :] in _TYPES}
