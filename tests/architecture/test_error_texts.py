"""Errors for users have one form: a sentence that begins in lower case and ends without a full stop."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import ROOT

SOURCE = ROOT / "packages/reprieve/src/reprieve"
FOLDERS = ("cli", "config", "assembly", "cluster/kube", "runtime")
ERRORS = re.compile(r"\w*Error|ClickException|BadParameter|fail")
# A word that begins a sentence, and not a name such as ConfigMap or OpenSSL.
CAPITAL = re.compile(r"(?!Reprieve\b)[A-Z][a-z]*\b")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The literal texts of errors that a module raises; what is inserted is left out."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ERRORS.fullmatch(name_of(node.func)):
            given = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "message")]
            yield from ((node.lineno, text) for one in given if (text := literal(one)))


def name_of(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def literal(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(literal(part) if isinstance(part, ast.Constant) else "{}" for part in parts)
    return ""


@pytest.mark.parametrize("folder", FOLDERS)
def test_errors_begin_in_lower_case_and_have_no_full_stop(folder: str) -> None:
    found = [(path, *one) for path in sorted((SOURCE / folder).rglob("*.py")) for one in texts(path)]
    assert found
    wrong = [one for one in found if CAPITAL.match(one[2]) or one[2].endswith(".")]
    assert not wrong
