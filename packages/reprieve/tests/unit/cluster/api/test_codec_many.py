"""Files, and lists in files: each object by itself, so that a bad one spoils no other."""

import json
from typing import Any

import yaml
from tests.unit.cluster.api.examples import NODE, POD, changed, without

from reprieve.cluster.api.codec import (
    Decoded,
    DecodeResult,
    UnknownKind,
    Unreadable,
    decode,
    decode_documents,
)


def bare(thing: dict[str, Any]) -> dict[str, Any]:
    """As items of a list come: the list says what they are."""
    return without(without(thing, "kind"), "apiVersion")


def problem(result: DecodeResult) -> str:
    assert isinstance(result, Unreadable | UnknownKind), result
    return str(result.problem)


def one(thing: dict[str, Any]) -> DecodeResult:
    return decode(json.dumps(thing).encode())


def test_a_file_of_yaml() -> None:
    text = yaml.safe_dump_all([POD, None, NODE], explicit_start=True)
    assert decode_documents(text) == (one(POD), one(NODE))


def test_a_file_of_json() -> None:
    text = json.dumps(POD, indent="\t") + "\n" + json.dumps(NODE) + "\n"
    assert decode_documents(text) == (one(POD), one(NODE))


def test_an_empty_file() -> None:
    for text in ("", "---\n", "# nothing\n---\n---\n"):
        assert decode_documents(text) == ()


def test_problems_say_in_which_document_they_are() -> None:
    text = yaml.safe_dump_all(
        [POD, changed(POD, "spec.priority", "x"), {"kind": "Deployment", "apiVersion": "a"}, 5]
    )
    fine, wrong, unknown, number = decode_documents(text)
    assert isinstance(fine, Decoded)
    expected = "Pod team-a/web-0: documents[1].spec.priority: expected an integer, got a string"
    assert problem(wrong) == expected
    assert isinstance(unknown, UnknownKind)
    assert unknown.problem.path == "documents[2].kind"
    assert problem(number) == "documents[3]: expected an object, got an integer"


def test_text_that_is_no_yaml_does_not_spoil_the_rest() -> None:
    text = f"{yaml.safe_dump(POD)}---\na: [1\n---\n{yaml.safe_dump(NODE)}"
    first, bad, last = decode_documents(text)
    assert (first, last) == (one(POD), one(NODE))
    assert problem(bad).startswith("documents[1]: expected YAML or JSON: ")


def test_lists_in_files_are_taken_apart() -> None:
    several = {"apiVersion": "v1", "kind": "List", "items": [POD, changed(NODE, "spec", 5)]}
    of_pods = {"apiVersion": "v1", "kind": "PodList", "items": [bare(POD)]}
    pod, node, other = decode_documents(yaml.safe_dump_all([several, of_pods]))
    assert (pod, other) == (one(POD), one(POD))
    assert problem(node) == "Node n1: documents[0].items[1].spec: expected an object, got an integer"


def test_scalars_are_read_as_kubernetes_reads_them() -> None:
    text = """
        apiVersion: v1
        kind: Pod
        metadata:
          annotations: {date: 2026-01-02, time: 12:30, moment: 2026-01-02T03:04:05Z}
          creationTimestamp: 2026-01-02T03:04:05Z
    """
    (pod,) = decode_documents(text)
    assert isinstance(pod, Decoded)
    assert pod.object.metadata.annotations == {
        "date": "2026-01-02",
        "time": "12:30",
        "moment": "2026-01-02T03:04:05Z",
    }
    assert pod.object.metadata.creation_timestamp is not None


def test_a_small_text_that_grows_beyond_bounds_is_refused() -> None:
    laughs = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    laughs += [f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]" for i in range(9)]
    for text in ("[" * 100_000, "a: &a [*a]", "\n".join(laughs)):
        (result,) = decode_documents(text)
        assert problem(result).startswith("documents[0]: expected YAML or JSON: ")


def test_values_that_belie_their_tags_are_refused() -> None:
    for value in ("!!bool maybe", "!!timestamp noon", "!!int ''", "!!float x", "!!binary x", "!unheard of"):
        (result,) = decode_documents(f"{{apiVersion: v1, kind: Pod, metadata: {{name: {value}}}}}")
        assert problem(result).startswith("documents[0]: expected YAML or JSON: ")


def test_an_alias_stands_for_its_anchor() -> None:
    (pod,) = decode_documents(
        "{apiVersion: v1, kind: Pod, metadata: {labels: &l {a: b}, annotations: *l, name: x}}"
    )
    assert isinstance(pod, Decoded)
    assert pod.object.metadata.annotations == {"a": "b"}
