"""Texts of YAML mean the same to the quick reader of regular texts and to PyYAML."""

from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from reprieve.cluster.api import documents as module
from reprieve.cluster.api.documents import block_value, documents

_WORDS = st.sampled_from(
    [
        "a",
        "name",
        "on",
        "yes",
        "null",
        "~",
        "12",
        "0x1f",
        "1.5",
        "-3",
        "--flag",
        "a b",
        "a: b",
        "a #b",
        "x:y",
        "it's",
        'say "so"',
        "",
        " lead",
        "trail ",
        "- a",
        "#no",
        "{}",
        "[]",
        "{a",
        ">",
        "*x",
        "&x",
        "!t",
        "%d",
        "@at",
        "`tick",
        "?",
        "-",
        ":",
        "key:",
        "2026-01-01T00:00:00Z",
        "12:30",
        "1e3",
        ".5",
        "é",
        "\u2028",
        "two\nlines\n",
        "two\nlines",
        "one\n",
        "\n",
        "a\n\n\nb\n",
        "  deep\nback\n",
        "tab\there",
        "f:meta",
        "<<",
    ]
)
_SCALARS = _WORDS | st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=6)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=12,
)
_LINES = st.sampled_from(
    [
        "a: 1",
        "a:",
        "b: x",
        "- a",
        "- a: 1",
        "-",
        "- - b",
        "- b:",
        "  c: 2",
        "  - d",
        "  c:",
        "    e: f",
        " - g",
        "  plain",
        "a: |",
        "  text",
        "",
        "   ",
        "# remark",
        "  # remark",
        "a: x # remark",
        "- |-",
        "a: 'x",
        "b: {}",
        "- []",
        "a: {b: c}",
        "...",
        "'q': 1",
        '"q": "\\n"',
        "a: b: c",
        "? a",
        "a:b",
        "a : b",
        "-  a: 1",
        "  b: 2",
        "-   a: 1",
        "    b: 2",
        "a: >",
        "a: &x 1",
        "b: *x",
        "<<: {}",
        "a:   spaced",
        "a: !!str 1",
        '- "\\x41"',
    ]
)


def _slow(text: str) -> object:
    """As documents() reads a text that the quick reader leaves alone."""
    return yaml.load(text, Loader=module._Loader)


@given(_VALUES, st.booleans(), st.integers(2, 4))
def test_what_is_written_as_kubectl_writes_it_is_read_as_it_was(value: Any, wide: bool, indent: int) -> None:
    text = yaml.dump(
        value,
        Dumper=yaml.CSafeDumper,
        default_flow_style=False,
        allow_unicode=True,
        indent=indent,
        width=1000 if wide else 20,
    )
    quick = block_value(text, module._plain)
    assert quick is None or quick == _slow(text)


@given(st.lists(_LINES, min_size=1, max_size=8), st.booleans())
@example(["a: |", "  text"], False)
@example(["a: |", "  text", "", "  # remark"], True)
@example(["a: b", "  - d"], True)
def test_any_lines_are_read_as_by_pyyaml_or_left_to_it(lines: list[str], ends: bool) -> None:
    text = "\n".join(lines) + "\n" * ends
    quick = block_value(text, module._plain)
    if quick is not None:
        assert quick == _slow(text)


def test_a_list_of_objects_needs_no_slow_reader() -> None:
    text = """\
apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    annotations:
      kubectl.kubernetes.io/last-applied-configuration: |
        {"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}
    creationTimestamp: "2026-01-01T00:00:00Z"
    labels: {}
    name: a
  spec:
    containers:
    - args:
      - --port=80
      - -v
      command: ["sh"]
      image: registry.example/app:v1
    priority: -10
    tolerations: []
  status: null
kind: List
"""
    assert block_value(text, module._plain) is None, "a flow list"
    regular = text.replace('["sh"]', "\n      - sh")
    found: Any = block_value(regular, module._plain)
    assert found == _slow(regular)
    assert found["items"][0]["spec"]["priority"] == -10
    assert list(documents(regular)) == [found]
