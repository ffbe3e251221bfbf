"""Completion indexes of an Indexed Job: the notation ``0,2-4``, and the index of a pod."""

from collections.abc import Iterable
from itertools import pairwise

from reprieve.cluster.api.values import items
from reprieve.model.json import Json

INDEX = "batch.kubernetes.io/job-completion-index"
_VARIABLE = "JOB_COMPLETION_INDEX"


def read_indexes(text: str, below: int) -> set[int]:
    """The indexes below a number; malformed parts are skipped."""
    found: set[int] = set()
    for span in text.split(","):
        first, _, last = span.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            found.update(range(int(first), min(int(last or first), below - 1) + 1))
    return found


def written_indexes(found: Iterable[int]) -> str:
    numbers = sorted(found)
    if not numbers:
        return ""
    breaks = [i + 1 for i, (one, next_one) in enumerate(pairwise(numbers)) if next_one != one + 1]
    edges = pairwise((0, *breaks, len(numbers)))
    return ",".join(_span(numbers[start], numbers[end - 1]) for start, end in edges)


def _span(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def index_of(labels: dict[str, str]) -> int | None:
    text = labels.get(INDEX, "")
    return int(text) if text.isdecimal() else None


def with_index(pod: Json, name: str, index: int) -> Json:
    """A pod of a job with its completion index: name, hostname, label, annotation and environment."""
    meta, spec = pod["metadata"], pod["spec"]
    number = {INDEX: str(index)}
    meta = {
        **meta,
        "generateName": f"{name}-{index}-",
        "labels": {**meta["labels"], **number},
        "annotations": {**meta["annotations"], **number},
    }
    containers = {
        field: [_with_variable(container) for container in items(spec, field)]
        for field in ("initContainers", "containers")
        if field in spec
    }
    return {**pod, "metadata": meta, "spec": {"hostname": f"{name}-{index}", **spec, **containers}}


def _with_variable(container: Json) -> Json:
    """The container with its completion index in the environment."""
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    others = [variable for variable in items(container, "env") if variable.get("name") != _VARIABLE]
    return {**container, "env": [*others, {"name": _VARIABLE, "valueFrom": source}]}
