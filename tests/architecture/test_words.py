"""Prose speaks of pods, calls and plans as things: at most a few pronouns of persons in 1,000 words."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.architecture.source import ROOT

PERSONS = re.compile(
    r"\b(who|whoever|whom|nobody|somebody|anybody|everybody|someone|anyone|everyone|he|him|his)\b",
    re.IGNORECASE,
)
MOST_IN_A_THOUSAND = 3.0
WORST = 10  # sentences that a failure names


class Prose(NamedTuple):
    path: Path
    text: str


def test_the_docs_speak_of_things() -> None:
    pages = [
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "tests").rglob("*.md"),
    ]
    assert_speaks_of_things([Prose(page, page.read_text()) for page in sorted(pages)])


@pytest.mark.parametrize("folder", ["src", "benchmarks", "tests"])
def test_the_code_speaks_of_things(folder: str) -> None:
    modules = sorted((ROOT / folder).rglob("*.py"))
    prose = (Prose(module, text) for module in modules for text in texts_of(module.read_text()))
    assert_speaks_of_things(list(prose))


def test_the_scenarios_speak_of_things() -> None:
    """Their names and reasons; what they expect of events is data, and the events are text of `src`."""
    scenarios = sorted((ROOT / "tests" / "scenarios").rglob("*.yaml"))
    heads = ((path, yaml.safe_load(path.read_text())) for path in scenarios)
    prose = [Prose(path, f"{head['name'].replace('-', ' ')}.\n\n{head['why']}") for path, head in heads]
    assert len(prose) > 300
    assert_speaks_of_things(prose)


def assert_speaks_of_things(prose: list[Prose]) -> None:
    words = sum(len(re.findall(r"[A-Za-z']+", one.text)) for one in prose)
    found = [(one.path, sentence) for one in prose for sentence in sentences(one.text)]
    worst = sorted(found, key=lambda pair: len(PERSONS.findall(pair[1])), reverse=True)[:WORST]
    persons = sum(len(PERSONS.findall(one.text)) for one in prose)
    listed = "\n".join(f"  {path.relative_to(ROOT)}: {sentence}" for path, sentence in worst)
    share = 1000 * persons / max(words, 1)
    assert share <= MOST_IN_A_THOUSAND, f"{share:.1f} of 1,000 words speak of persons, for example:\n{listed}"


def sentences(text: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.:;|])\s+|\n\n", text):
        if PERSONS.search(sentence):
            yield " ".join(sentence.split())


def texts_of(source: str) -> Iterator[str]:
    """Strings of several words, docstrings and comments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")
