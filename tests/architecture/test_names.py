"""A public class has a name of its own: one found by searching, not by knowing where to look."""

import ast
from collections import defaultdict
from functools import cache

from tests.architecture.source import modules

# Each of these names the same thing of Kubernetes in two places that must not know each other.
SHARED_NAMES = {
    "Cluster": "what the scheduler watches and acts on; what a Python program reads and asks about"
}


@cache
def public_classes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.as_posix())
    return found


def test_no_public_class_name_stands_in_two_modules() -> None:
    doubled = {name: paths for name, paths in public_classes().items() if len(paths) > 1}
    assert {name: paths for name, paths in doubled.items() if name not in SHARED_NAMES} == {}


def test_the_exceptions_are_few_and_needed() -> None:
    assert len(SHARED_NAMES) <= 5
    assert all(len(public_classes()[name]) > 1 for name in SHARED_NAMES)
