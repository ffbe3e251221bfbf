"""A small full cluster, called like the program that makes large crowded ones: one JSON object a line.

Every node runs two pods that take it whole. One goes with a pod of the node before, one with a pod of the
next, so that counting alone proves no plan. As in the large worlds, newcomers come last and have no node.
"""

import argparse
import json
from collections.abc import Iterator

from benchmarks.worlds.objects import Json

_SIZE = {"cpu": "16", "memory": "64Gi", "pods": "110"}


def objects(nodes: int, pods: int, millicpu: int) -> Iterator[Json]:
    for value in (100, 1000):
        yield _object("scheduling.k8s.io/v1", "PriorityClass", f"p{value}", value=value)
    for i in range(nodes):
        yield _object("v1", "Node", f"n{i}", status={"capacity": _SIZE, "allocatable": _SIZE})
        whole = {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}, "priority": 100}
        yield _object("scheduling.k8s.io/v1beta1", "PodGroup", f"pair{i}", namespace="default", spec=whole)
        pair = {"schedulingGroup": {"podGroupName": f"pair{i}"}}
        for node in (i, (i + 1) % nodes):
            yield _pod(f"old{i}-{node}", 100, 8_000, nodeName=f"n{node}", **pair)
    group = {"schedulingGroup": {"podGroupName": "newcomer"}} if pods > 1 else {}
    if group:
        spec = {
            "schedulingPolicy": {"gang": {"minCount": pods}},
            "priorityClassName": "p1000",
            "priority": 1000,
        }
        yield _object("scheduling.k8s.io/v1beta1", "PodGroup", "newcomer", namespace="default", spec=spec)
    yield from (_pod(f"new{i}", 1000, millicpu, **group) for i in range(pods))


def _pod(name: str, priority: int, millicpu: int, **spec: object) -> Json:
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": f"{millicpu}m"}}}
    common = {"priorityClassName": f"p{priority}", "priority": priority, "schedulerName": "reprieve"}
    phase = "Running" if "nodeName" in spec else "Pending"
    spec = {**common, "containers": [container], **spec}
    return _object("v1", "Pod", name, namespace="default", spec=spec, status={"phase": phase})


def _object(api_version: str, kind: str, name: str, namespace: str = "", **fields: object) -> Json:
    metadata = {"name": name, "uid": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("world")
    for flag in ("--gang", "--cpu", "--nodes"):
        parser.add_argument(flag, type=int, required=True)
    parser.add_argument("--seed", help="nothing here is drawn at random")
    asked = parser.parse_args()
    for thing in objects(asked.nodes, asked.gang, asked.cpu):
        print(json.dumps(thing))


if __name__ == "__main__":
    main()
