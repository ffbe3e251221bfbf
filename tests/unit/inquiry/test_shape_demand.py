"""A pod of some shape and priority, as a manifest."""

import pytest

from reprieve.inquiry.cluster_objects import ClusterObjects
from reprieve.inquiry.decoded_cluster import decoded
from reprieve.inquiry.shape_demand import (
    PodShape,
    ShapeSyntaxError,
    parse_shape,
    shape_manifest,
    with_class_for_shape,
)


def test_a_shape_has_resources_in_order() -> None:
    shape = parse_shape("cpu=4, memory=8Gi,nvidia.com/gpu=1")
    assert shape == PodShape((("cpu", "4"), ("memory", "8Gi"), ("nvidia.com/gpu", "1")))
    assert str(shape) == "cpu 4, memory 8Gi, nvidia.com/gpu 1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cpu", "expected RESOURCE=QUANTITY, as in cpu=4,memory=8Gi, got 'cpu'"),
        ("cpu=4,", "expected RESOURCE=QUANTITY, as in cpu=4,memory=8Gi, got ''"),
        ("cpu=four", "cpu: expected a quantity above zero, as in 4 or 8Gi, got 'four'"),
        ("cpu=0", "cpu: expected a quantity above zero, as in 4 or 8Gi, got '0'"),
        ("cpu=1,cpu=2", "cpu is given twice"),
    ],
)
def test_what_is_no_shape(text: str, message: str) -> None:
    with pytest.raises(ShapeSyntaxError) as caught:
        parse_shape(text)
    assert str(caught.value) == message


def test_taints_of_requested_devices_are_tolerated() -> None:
    body = shape_manifest(parse_shape("cpu=1,nvidia.com/gpu=1")).body
    assert body["spec"]["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}]


def test_the_cluster_gets_a_class_of_that_priority() -> None:
    before = decoded(ClusterObjects((), 0.0))
    found = with_class_for_shape(before, 2_000_000_000).by_name.find("PriorityClass", "", "reprieve-exposure")
    assert found is not None
    assert found["value"] == 2_000_000_000
    assert not before.by_name.has_kind("PriorityClass")
