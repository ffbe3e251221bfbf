"""Completion indexes of an Indexed Job: the notation ``0,2-4``, and the index of a pod."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from reprieve.cluster.api.values import items
from reprieve.model.json import Json

INDEX = "batch.kubernetes.io/job-completion-index"
_VARIABLE = "JOB_COMPLETION_INDEX"


@dataclass(frozen=True, slots=True)
class IndexSet:
    """A set of indexes as spans in order, with gaps between: a Job may have two billion of them."""

    spans: tuple[range, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.spans))

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self.spans)

    def with_all(self, numbers: Iterable[int]) -> "IndexSet":
        return _joined((*self.spans, *(range(number, number + 1) for number in numbers)))

    def missing(self, below: int) -> Iterator[int]:
        """The others below a number, in order."""
        at = 0
        for span in self.spans:
            yield from range(at, min(span.start, below))
            at = span.stop
        yield from range(at, below)

    def __str__(self) -> str:
        return ",".join(map(_written, self.spans))


def _joined(spans: Iterable[range]) -> IndexSet:
    found: list[range] = []
    for span in sorted((span for span in spans if span), key=lambda span: span.start):
        if found and span.start <= found[-1].stop:
            found[-1] = range(found[-1].start, max(found[-1].stop, span.stop))
        else:
            found.append(span)
    return IndexSet(tuple(found))


def read_indexes(text: str, below: int) -> IndexSet:
    """The indexes below a number; malformed parts are skipped."""
    found: list[range] = []
    for span in text.split(","):
        first, _, last = span.partition("-")
        if _is_index(first) and (not last or _is_index(last)):
            found.append(range(int(first), min(int(last or first) + 1, below)))
    return _joined(found)


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 10


def _written(span: range) -> str:
    first, last = span.start, span.stop - 1
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
