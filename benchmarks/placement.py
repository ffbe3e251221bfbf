"""How long one placement takes, for pods of many shapes on clusters of many sizes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from benchmarks.clusters import Json, cluster, container, pod, running_pod
from benchmarks.measure import microseconds
from reprieve.cluster.api.codec import Decoded, decode_pod, decode_value
from reprieve.model.objects import KubernetesObject
from reprieve.model.snapshot import Snapshot
from reprieve.model.snapshot_builder import build
from reprieve.placement.constraints.resources import resources
from reprieve.placement.demand import Ask
from reprieve.placement.place import place, pod_demand, survey

SIZES = (100, 1000, 5000)
_SHAPES = Path(__file__).with_name("shapes.yaml")


def newcomers() -> list[Json]:
    return [_newcomer(shape) for shape in yaml.safe_load(_SHAPES.read_text())]


def _newcomer(shape: dict[str, Any]) -> Json:
    main = container(shape.get("cpu"), shape.get("memory"), shape.get("extra"))
    if "hostPort" in shape:
        main["ports"] = [{"containerPort": 80, "hostPort": shape["hostPort"]}]
    spec: Json = {"containers": [main], "priority": 500, **shape.get("spec", {})}
    helpers = [
        {**container(**shape[name]), "name": name, "restartPolicy": policy}
        for name, policy in (("sidecar", "Always"), ("init", ""))
        if name in shape
    ]
    return pod(shape["name"], shape.get("labels", {"app": "newcomer"}), {**spec, "initContainers": helpers})


def snapshot(nodes: int, pods: list[Json]) -> Snapshot:
    return build(list(_decoded([*cluster(nodes), *pods]))).snapshot


def _decoded(values: list[Json]) -> Iterator[KubernetesObject]:
    for value in values:
        result = decode_value(value)
        if not isinstance(result, Decoded):
            raise SystemExit(f"the benchmark's own object cannot be read: {result}")
        yield result.object


def placement(sizes: tuple[int, ...] = SIZES) -> Iterator[dict[str, object]]:
    pods = newcomers()
    for nodes in sizes:
        view = snapshot(nodes, pods)
        first = len(view.pods) - len(pods)
        for i, value in enumerate(pods):
            ask = Ask(view, first + i)
            demand = pod_demand(view, first + i)
            yield {
                "nodes": nodes,
                "shape": value["metadata"]["name"],
                "fit mask": microseconds(lambda ask=ask: list(resources(ask))),  # type: ignore[misc]
                "filters": microseconds(lambda ask=ask: survey(ask)),  # type: ignore[misc]
                "decision": microseconds(lambda demand=demand, view=view: place(demand, view)),  # type: ignore[misc]
            }


def decoding() -> dict[str, object]:
    """Decoded pods a second, from JSON as the API server sends it."""
    raw = msgspec.json.encode(running_pod(7, "node-00007"))
    once = microseconds(lambda: decode_pod(raw))
    return {"bytes": len(raw), "pods a second": round(1e6 / once)}
