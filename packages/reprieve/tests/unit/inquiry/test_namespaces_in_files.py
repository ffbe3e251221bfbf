"""Objects without a namespace are in `default`, as kubectl would create them."""

import json

from reprieve.inquiry.joined_files import cluster_in
from reprieve.inquiry.object_files import parse_objects

FILE = b"""
apiVersion: v1
kind: Pod
metadata: {name: p, uid: given}
---
apiVersion: v1
kind: Node
metadata: {name: n}
"""


def test_an_object_without_a_namespace_is_in_the_default_one() -> None:
    found = cluster_in([parse_objects(FILE, "f.yaml")], 0.0)
    pod, node = (json.loads(thing.body)["metadata"] for thing in found.objects)
    assert pod == {"name": "p", "uid": "given", "namespace": "default"}
    assert "namespace" not in node
