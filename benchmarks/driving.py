"""How does a benchmark play a cluster to the scheduler: objects as JSON in, effects out?

Knows of the scheduler that it observes events and decides, and nothing of how.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from benchmarks.product import find, moment_at
from benchmarks.worlds.objects import Json

_NOW = 1_800_000_000.0  # later than everything that the worlds say has begun
_BATCH = 500  # events that the loop observes together


def encoded(value: Json, version: int) -> bytes:
    """As the API server sends it."""
    meta = {"uid": f"{value['kind']}-{value['metadata']['name']}", **value["metadata"]}
    return msgspec.json.encode({**value, "metadata": {**meta, "resourceVersion": str(version)}})


def decoded(raw: bytes) -> Any:
    found = find("decode")(raw)
    if not hasattr(found, "object"):
        raise SystemExit(f"the benchmark's own object cannot be read: {found}")
    return found.object


def batches(events: Iterable[Any]) -> Iterator[list[Any]]:
    events = iter(events)
    while batch := list(islice(events, _BATCH)):
        yield batch


def configured(*, gates: str = "", **args: Json | str) -> Any:
    """Settings, as a configuration and feature gates say it: that has the same words in every revision."""
    own = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "ReprieveArgs", **args}
    profile = {"schedulerName": "reprieve", "pluginConfig": [{"name": "Reprieve", "args": own}]}
    written = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    return find("settings_of")(find("parse_configuration")(written), find("parse_feature_gates")(gates))


class Played:
    """A scheduler, and the cluster that it has seen."""

    def __init__(self, objects: Iterable[Json], settings: Any = None) -> None:
        """In batches, as the loop shows it; then memory is placed, as in the daemon. None: the defaults."""
        self.scheduler = find("Scheduler")(settings or configured())
        self._version = 0
        self.now = _NOW
        for batch in batches(self.seen(objects)):
            self.observe(batch)
        self.observe([find("Synced")()])
        find("settle_memory")()

    def seen(self, objects: Iterable[Json]) -> Iterator[Any]:
        """Events that show the objects, each in a version of its own."""
        seen = find("Seen")
        for value in objects:
            self._version += 1
            yield seen(decoded(encoded(value, self._version)))

    def gone(self, objects: Iterable[Json]) -> Iterator[Any]:
        gone, target = find("Gone"), find("Target")
        for value in objects:
            meta = value["metadata"]
            uid = meta.get("uid", f"{value['kind']}-{meta['name']}")
            yield gone(target(value["kind"], meta.get("namespace", ""), meta["name"], uid))

    def observe(self, events: Iterable[Any]) -> list[Any]:
        effects: list[Any] = self.scheduler.observe(events, moment_at(self.now))
        return effects

    def decide(self) -> list[Any]:
        """The effects of the next decision, and the request for a better plan; none if no demand is due."""
        decided = self.scheduler.decide(moment_at(self.now))
        if decided is None:
            return []
        better = getattr(decided, "improve", None)  # earlier revisions know no such thing
        return [*decided.effects, *([better] if better is not None else [])]

    def later(self, seconds: float = 1.0) -> None:
        self.now += seconds
