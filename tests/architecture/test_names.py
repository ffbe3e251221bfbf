"""A public class has a name of its own: one found by searching, not by knowing where to look."""

import ast
from collections import defaultdict
from functools import cache

from tests.architecture.source import modules


@cache
def public_classes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.as_posix())
    return found


def test_no_public_class_name_stands_in_two_modules() -> None:
    assert {name: paths for name, paths in public_classes().items() if len(paths) > 1} == {}
