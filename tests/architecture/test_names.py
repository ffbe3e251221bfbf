"""A public class has a name of its own: one found by searching, not by knowing where to look."""

import ast
from collections import defaultdict

from tests.architecture.source import PACKAGE


def public_classes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(path.relative_to(PACKAGE).as_posix())
    return found


def test_no_public_class_name_stands_in_two_modules() -> None:
    assert {name: paths for name, paths in public_classes().items() if len(paths) > 1} == {}
