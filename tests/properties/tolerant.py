"""Crowds in which many tolerate preemption: by their own class or by that of their group."""

import random
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from reprieve.model.json import Json
from reprieve.preemption.toleration import MINIMUM_PRIORITY, SECONDS
from tests.properties.crowded import EVERYTHING, Crowd, seeded_crowd
from tests.properties.vocabulary import chance

NOW = datetime(2026, 1, 2, tzinfo=UTC)
CLASSES = ("plain", "quick", "slow", "forever", "odd", "unheard-of")

_MINIMUMS = (None, "11", "101", "401", "1000", "1001", "2147483647", "ten", "1_000")
_SECONDS = (None, "0", "1", "60", "600", "600", "3600", "-1", "9223372036854775807", "10m", " 5")


def tolerant_crowd(seed: int) -> Crowd:
    rng, crowd = random.Random(seed), seeded_crowd(seed, EVERYTHING)
    for thing in crowd.objects:
        match thing["kind"]:
            case "Pod":
                thing["spec"]["priorityClassName"] = rng.choice(CLASSES)
                thing["status"]["conditions"] = _conditions(rng, "PodScheduled")
            case "PodGroup" | "CompositePodGroup":
                thing["spec"]["priorityClassName"] = rng.choice(("", *CLASSES))
                thing["status"] = {"conditions": _conditions(rng, "reprieve.dev/RunStarted")}
    classes = [_class(rng, name) for name in CLASSES[:-1]]
    return Crowd([*classes, *crowd.objects], crowd.newcomers)


def tolerant_crowds() -> st.SearchStrategy[Crowd]:
    """A failing example is printed as the seed that makes it."""
    return st.builds(tolerant_crowd, st.integers(0, 2**32 - 1))


def _class(rng: random.Random, name: str) -> Json:
    written = {MINIMUM_PRIORITY: rng.choice(_MINIMUMS), SECONDS: rng.choice(_SECONDS)}
    known: dict[str, dict[str, str | None]] = {
        "plain": {},
        "quick": {MINIMUM_PRIORITY: "1001", SECONDS: "60"},
        "slow": {MINIMUM_PRIORITY: "1001", SECONDS: "3600"},
        "forever": {MINIMUM_PRIORITY: "401", SECONDS: "-1"},
    }
    annotations = {key: text for key, text in known.get(name, written).items() if text is not None}
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "annotations": annotations},
        "value": 10,
    }


def _conditions(rng: random.Random, kind: str) -> list[Json]:
    if chance(rng, 0.1):
        return []
    when = NOW - timedelta(seconds=rng.randrange(-30, 4000))
    status = "True" if chance(rng, 0.9) else "False"
    return [{"type": kind, "status": status, "lastTransitionTime": when.isoformat()}]
