"""Objects of files, in all forms in which people have them; and files that cannot be used."""

import gzip
import json

import pytest
import yaml

from reprieve.inquiry.object_files import ObjectFile, parse_objects
from reprieve.model.json import Json

POD: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team"}}
NODE: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
BARE: Json = {"metadata": {"name": "p", "namespace": "team"}}
LIST: Json = {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [POD, NODE]}
PODS: Json = {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "7"}, "items": [BARE]}
HEADER: Json = {
    "apiVersion": "reprieve.dev/v1alpha1",
    "kind": "ClusterSnapshot",
    "takenAt": "2026-01-01T00:00:00Z",
    "resourceVersion": "41",
    "configuration": {"kind": "KubeSchedulerConfiguration"},
    "objectCount": 2,
    "decisionCount": 1,
}
DECISION: Json = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "Decision", "id": "d-1"}


def lines(*bodies: Json) -> bytes:
    return "".join(json.dumps(body) + "\n" for body in bodies).encode()


def read(text: bytes) -> ObjectFile:
    return parse_objects(text, "FILE")


def names(file: ObjectFile) -> list[tuple[str, str, str]]:
    return [(o.api_version, o.kind, json.loads(o.body)["metadata"]["name"]) for o in file.objects]


POD_AND_NODE = [("v1", "Pod", "p"), ("v1", "Node", "n")]


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        (lines(POD, NODE), [1, 2]),
        (lines(POD) + b"\n\n" + lines(NODE), [1, 4]),
        (yaml.safe_dump_all([POD, NODE]).encode(), [1, 2]),
        (json.dumps(LIST).encode(), [1, 1]),
        (json.dumps(LIST, indent=4).encode(), [1, 1]),
        (yaml.safe_dump(LIST).encode(), [1, 1]),
        (lines(PODS, NODE), [1, 2]),
        ((json.dumps(POD, indent=1) + "\n" + json.dumps(NODE, indent=1)).encode(), [1, 2]),
        (b"\xef\xbb\xbf" + lines(POD, NODE), [1, 2]),
        (gzip.compress(lines(POD, NODE), mtime=0), [1, 2]),
        (lines(HEADER, POD, NODE, DECISION), [2, 3]),
        (lines({"kind": "ClusterSnapshot", "objects": [POD, NODE]}), [1, 1]),
        (yaml.safe_dump({"kind": "ClusterSnapshot", "objects": [POD, NODE]}).encode(), [1, 1]),
    ],
)
def test_every_form_is_read(text: bytes, documents: list[int]) -> None:
    file = read(text)
    assert file.problems == ()
    assert names(file) == POD_AND_NODE
    assert list(file.documents) == documents


def test_a_small_text_that_becomes_a_large_one_is_rejected() -> None:
    """Compressed, by aliases, and by aliases in many documents."""
    aliases = b"apiVersion: v1\nkind: Pod\na: &a [%b]\nb: [%b]\n" % (b"x," * 50, b"*a," * 50)
    assert parse_objects(aliases, "FILE", 20_000).problems == ()
    for text in (gzip.compress(lines(POD) * 1000), aliases, b"---\n".join([aliases] * 5)):
        largest = 20_000 if text.startswith(b"---") or text.count(b"---") else 5_000
        (problem,) = parse_objects(text, "FILE", largest).problems
        assert problem.startswith("FILE: ")


def test_a_snapshot_has_a_header_and_decisions() -> None:
    file = read(gzip.compress(lines(HEADER, POD, NODE, DECISION)))
    assert file.header is not None
    assert (file.header.taken_at, file.header.resource_version) == (1767225600.0, "41")
    assert file.header.configuration == {"kind": "KubeSchedulerConfiguration"}
    assert file.decisions == (DECISION,)


@pytest.mark.parametrize("items", [[], None])
def test_an_empty_list_is_no_problem(items: object) -> None:
    file = read(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode())
    assert (file.objects, file.problems) == ((), ())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "FILE: expected Kubernetes objects, got none"),
        (b"# nothing\n", "FILE: expected Kubernetes objects, got none"),
        (b"kind: [", "FILE: document 1: expected YAML or JSON: "),
        (b"hello", "FILE: document 1: expected a Kubernetes object"),
        (b"[1]", "FILE: document 1: expected a Kubernetes object"),
        (
            b"kind: Pod",
            "FILE: document 1: expected a Kubernetes object with an apiVersion and a kind, got a Pod",
        ),
        (b"{kind: 7, apiVersion: v1}", "FILE: document 1: expected a Kubernetes object"),
        (b'{"kind": "List", "apiVersion": "v1", "items": [3]}', "FILE: document 1: expected a Kubernetes"),
        (b'{"kind": "List", "apiVersion": "v1", "items": 3}', "FILE: document 1: items: expected a list"),
        (b"\xff\xfe\x00", "FILE: expected YAML or JSON as text in UTF-8"),
        (b'{"a": ' * 5000, "FILE: "),
        (lines(POD, NODE)[:-20], "FILE: the file is truncated: line 2, its last, is incomplete"),
        (lines(POD) + b"{oops\n" + lines(NODE), "FILE: document 1: expected YAML or JSON: "),
        (lines(POD, NODE) + b"{oops\n" + lines(NODE), "FILE: line 3 is not a JSON object"),
        (json.dumps(LIST, indent=1).encode()[:-20], "FILE: the file is truncated: its JSON ends too early"),
        (
            gzip.compress(lines(POD, NODE), mtime=0)[:-12],
            "FILE: the file is truncated: its gzip data ends too early",
        ),
        (b"\x1f\x8b\x08\x00garbage-garbage", "FILE: the file is damaged: "),
        (
            lines(HEADER, POD),
            "FILE: the file is truncated: its header says 3 objects and decisions, it has 1",
        ),
        (
            lines({**HEADER, "apiVersion": "reprieve.dev/v2"}, POD),
            "FILE: it is a ClusterSnapshot of version reprieve.dev/v2, and this version of Reprieve reads",
        ),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text: bytes, sentence: str) -> None:
    problems = read(text).problems
    assert problems
    assert problems[0].startswith(sentence), problems
    assert all("\n" not in problem for problem in problems)
