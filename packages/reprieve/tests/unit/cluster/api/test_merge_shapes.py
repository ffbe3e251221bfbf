"""How the kinds are shared among several writers."""

from reprieve.cluster.api.merge_shapes import (
    ATOMIC,
    UNKNOWN,
    VALUE_SET,
    GranularMap,
    KeyedList,
    MergeShape,
    _marks,
    shape_of,
)
from reprieve.cluster.api.schema import ListOf, Object, Plain, fields_of, is_listed


def at(shape: MergeShape, path: str) -> MergeShape:
    for name in path.split("."):
        if isinstance(shape, KeyedList):
            shape = shape.item
        assert isinstance(shape, GranularMap)
        shape = shape.below(name)
    return shape


def test_some_of_a_pod() -> None:
    pod = shape_of("v1", "Pod")
    containers = at(pod, "spec.containers")
    assert isinstance(containers, KeyedList)
    assert containers.keys == (("name", None),)
    ports = at(pod, "spec.containers.ports")
    assert isinstance(ports, KeyedList)
    assert ports.keys == (("containerPort", None), ("protocol", "TCP"))
    assert isinstance(at(pod, "metadata.labels"), GranularMap)
    assert at(pod, "metadata.finalizers") == VALUE_SET
    for path in ("spec.nodeSelector", "spec.tolerations", "spec.containers.command", "spec.priority"):
        assert at(pod, path) == ATOMIC


def test_what_none_knows() -> None:
    assert shape_of("example.com/v1", "Strange") is UNKNOWN
    assert at(shape_of("v1", "Pod"), "spec.strange.below") is UNKNOWN


def test_every_list_that_is_named_has_the_keys() -> None:
    for name, mark in _marks().items():
        thing, dot, field = name.partition(".")
        if not dot or not is_listed(Object(thing)):
            continue
        kind = fields_of(Object(thing))[field]
        if mark == "whole":
            continue
        assert isinstance(kind, ListOf), name
        if mark == "set":
            assert isinstance(kind.item, Plain)
        else:
            assert isinstance(kind.item, Object)
            assert {key.partition("=")[0] for key in mark.split()} <= set(fields_of(kind.item)), name
