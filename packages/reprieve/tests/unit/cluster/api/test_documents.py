"""Documents of YAML and JSON: each by itself, so that a bad one spoils no other."""

import json

import pytest
import yaml
from tests.unit.cluster.api.examples import NODE, POD

from reprieve.cluster.api.documents import Unparsed, documents


@pytest.mark.parametrize(
    "text",
    [
        yaml.safe_dump_all([POD, None, NODE], explicit_start=True),
        json.dumps(POD, indent="\t") + "\n" + json.dumps(NODE) + "\n",
    ],
)
def test_a_file_of_several_documents(text: str) -> None:
    assert [*documents(text)] == [POD, NODE]


@pytest.mark.parametrize("text", ["", "---\n", "# nothing\n---\n---\n"])
def test_an_empty_file(text: str) -> None:
    assert not [*documents(text)]


def test_text_that_is_no_yaml_does_not_spoil_the_rest() -> None:
    first, bad, last = documents(f"{yaml.safe_dump(POD)}---\na: [1\n---\n{yaml.safe_dump(NODE)}")
    assert (first, last) == (POD, NODE)
    assert isinstance(bad, Unparsed)
    assert bad.expected.startswith("expected YAML or JSON: ")


def test_scalars_are_read_as_kubernetes_reads_them() -> None:
    text = "{date: 2026-01-02, time: 12:30, moment: 2026-01-02T03:04:05Z}"
    assert [*documents(text)] == [{"date": "2026-01-02", "time": "12:30", "moment": "2026-01-02T03:04:05Z"}]


LAUGHS = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
LAUGHS += [f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]" for i in range(9)]


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "a: &a [*a]", "\n".join(LAUGHS)],
    ids=["deep", "of itself", "a billion laughs"],
)
def test_a_small_text_that_grows_beyond_bounds_is_refused(text: str) -> None:
    (document,) = documents(text)
    assert isinstance(document, Unparsed)


@pytest.mark.parametrize(
    "value", ["!!bool maybe", "!!timestamp noon", "!!int ''", "!!float x", "!!binary x", "!unheard of"]
)
def test_values_that_belie_their_tags_are_refused(value: str) -> None:
    (document,) = documents(f"{{name: {value}}}")
    assert isinstance(document, Unparsed)


def test_an_alias_stands_for_its_anchor() -> None:
    assert [*documents("{labels: &l {a: b}, annotations: *l}")] == [
        {"labels": {"a": "b"}, "annotations": {"a": "b"}}
    ]


def test_aliases_make_a_document_no_larger_than_its_text_a_few_times() -> None:
    """467 bytes took 1.8 GB: the bound was that of the largest document."""
    small = "\n".join(LAUGHS[:4]) + "\n"
    assert isinstance(next(documents(small)), dict)
    for text in ("\n".join(LAUGHS[:6]), "a: &a '" + "x" * 1000 + "'\nb: [" + "*a, " * 1000 + "]"):
        (document,) = documents(text)
        assert isinstance(document, Unparsed)
        assert document.expected.endswith("it has too many values or levels of nesting")


def test_what_pyyaml_reads_has_a_bound_of_values() -> None:
    (document,) = documents("[" + "[]," * 1_000_001 + "]")
    assert document == Unparsed("expected YAML or JSON: it has more than 1000000 values: write it as JSON")
