"""A public class or function has a name of its own: one found by searching, not by knowing where to look."""

import ast
from collections import defaultdict
from functools import cache

from tests.architecture.source import modules

# One meaning in several modules. So is what begins with `on_`: how each of them reacts to an event.
ONE_MEANING = {
    "main",  # where a process begins
    "whatif",  # the question: as a command, for Python, and where it is answered
    "exposure",
    "affected",  # what each controller says of itself
    "reconcile",
    "introduction",  # what each scene says of itself
    "play",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def modules_of(kind: type[ast.ClassDef] | type[Function]) -> dict[tuple[str, str], list[str]]:
    """The modules that define a public name, by distribution and name."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, tree in modules():
        distribution = path.parts[0] if path.parts[0].startswith("reprieve_") else "reprieve"
        for node in tree.body:
            if isinstance(node, kind) and not node.name.startswith("_"):
                found[distribution, node.name].append(path.as_posix())
    return found


def test_no_public_class_name_stands_in_two_modules() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for (_, name), paths in modules_of(ast.ClassDef).items():
        found[name] += paths
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def repeated_functions() -> dict[str, list[str]]:
    """Those that are in two modules of one distribution."""
    found = modules_of(Function)
    return {name: paths for (_, name), paths in found.items() if len(paths) > 1}


def test_no_public_function_name_has_two_meanings() -> None:
    repeated = {name: paths for name, paths in repeated_functions().items() if not name.startswith("on_")}
    assert repeated.keys() == ONE_MEANING, repeated
