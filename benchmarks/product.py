"""The names of the product that the benchmarks need, in every revision that they can be run against.

The same benchmark code runs against old revisions, whose modules have other names. So a name is looked up
by where the source under measurement defines it.
"""

import re
import sys
from collections import defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

# What a name was called before.
FORMER = {
    "SqliteBackend": "Disk",
    "ApiServer": "Front",
    "ApiRequest": "Request",
    "ListenAddress": "Endpoint",
    "PerformerLimits": "Limits",
    "settle_memory": "settle",
}
# Of names that several modules define, a part of the path of the one that is meant.
PLACES = {
    "admitted": "mini",
    "encoded": "study",
    "nodes_of": "mini",
    "play": "study",
    "run": "virtual_time",
}
# What runs the daemon, as the installed command does.
COMMAND = "from reprieve.cli.main import main; main()"

_DEFINITION = re.compile(r"^(?:class|def|async def) (\w+)|^([A-Z][A-Z_]+)\b.*=", re.MULTILINE)


@cache
def find(name: str) -> Any:
    """A class or function of the product under measurement."""
    for called in (name, FORMER.get(name, name)):
        place = PLACES.get(name, "")
        homes = [home for home in _homes()[called] if re.search(place, home)]
        if homes:
            return getattr(import_module(min(homes, key=len)), called)
    raise SystemExit(f"no {name} in this revision: benchmarks/product.py must say what it is called there")


def moment_at(seconds: float) -> Any:
    """A time as the scheduler takes it: earlier revisions have one clock, and a number."""
    return find("on_one_clock")(seconds) if _homes()["on_one_clock"] else seconds


@cache
def _homes() -> defaultdict[str, list[str]]:
    """The modules that define each public name."""
    found = defaultdict[str, list[str]](list)
    package = Path(import_module("reprieve").__file__ or "").parent
    roots = {package.parent, *(package.parents[2].glob("*/src"))}
    for root in roots & set(map(Path, sys.path)):
        for path in root.rglob("*.py"):
            module = ".".join(path.relative_to(root).with_suffix("").parts)
            for match in _DEFINITION.finditer(path.read_text()):
                found[match[1] or match[2]].append(module.removesuffix(".__init__"))
    return found
