"""Whatever comes in: an answer comes out, and it reads as a sentence."""

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cluster.api.examples import ALL

from reprieve.cluster.api.codec import (
    READERS,
    Decoded,
    DecodeResult,
    UnknownKind,
    Unreadable,
    decode,
    decode_pod,
    decode_value,
)
from reprieve.cluster.api.documents import documents

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SEEDS = st.integers(0, 2**32)


def check(result: DecodeResult) -> None:
    """A result is one of the three, and a problem is a sentence without the decoder's own signs."""
    if not isinstance(result, Decoded):
        assert isinstance(result, Unreadable | UnknownKind)
        problem = result.problem
        assert problem.expected.startswith("expected ")
        assert "$" not in problem.path
        assert "`" not in problem.path


def check_all(value: object, data: bytes) -> None:
    check(decode_value(value))
    check(decode(data))
    check(decode_pod(data))


@given(JSON)
def test_any_json(value: object) -> None:
    check_all(value, json.dumps(value).encode())


@given(JSON, st.sampled_from(sorted(READERS)))
def test_any_json_said_to_be_of_a_kind(value: object, kind: tuple[str, str]) -> None:
    said = {"apiVersion": kind[0], "kind": kind[1]}
    for thing in ({**said, "spec": value}, {**said, "metadata": value}, {**said, "status": value}):
        check_all(thing, json.dumps(thing).encode())
    check(READERS[kind].read(json.dumps(value).encode()))


@given(st.sampled_from(ALL), st.lists(st.tuples(SEEDS, JSON), min_size=1, max_size=3))
def test_corrupted_objects(example: dict[str, Any], corruptions: list[tuple[int, object]]) -> None:
    thing: Any = json.loads(json.dumps(example))
    for seed, value in corruptions:
        thing = corrupted(thing, random.Random(seed), value)
    check_all(thing, json.dumps(thing).encode())


@given(st.sampled_from(ALL), st.lists(st.tuples(SEEDS, st.binary(max_size=3)), min_size=1, max_size=3))
def test_corrupted_bytes(example: dict[str, Any], corruptions: list[tuple[int, bytes]]) -> None:
    data = json.dumps(example).encode()
    for seed, noise in corruptions:
        at = seed % len(data)
        data = data[:at] + noise + data[at + seed % 3 :]
    check_all(None, data)
    for document in documents(data.decode(errors="replace")):
        check(decode_value(document))


@given(st.text(alphabet="ab:-&*?|>{}[],!#%@'\" \n\t0.~<=é"))
def test_any_text(text: str) -> None:
    for document in documents(text):
        check(decode_value(document))


def corrupted(value: Any, rng: random.Random, noise: object) -> Any:
    """The value with something in it replaced by noise, or removed."""
    keys: list[Any] = list(range(len(value)) if isinstance(value, list) else value)
    key = rng.choice(keys) if keys else None
    if key is None:
        return noise
    if isinstance(value[key], dict | list) and rng.random() < 0.8:
        value[key] = corrupted(value[key], rng, noise)
    elif rng.random() < 0.2:
        del value[key]
    else:
        value[key] = noise
    return value
