"""Room for resizes is counted as a plain reading counts it, and no pod is evicted for one without need."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from reprieve.cluster.api.codec import Decoded, decode_value
from reprieve.model.objects import KubernetesObject
from reprieve.model.snapshot import build
from reprieve.placement.place import Placement, place
from reprieve.preemption.plan import NoPlan
from reprieve.preemption.policy import Question
from reprieve.preemption.resize import Accounting, DeferredResizes
from reprieve.preemption.searches import REPRIEVE
from tests.reference.searching import best_plan

CAPACITY = 8


@dataclass(frozen=True, slots=True)
class Guest:
    """A pod on the only node: what it has, and what it is to have, if that differs."""

    has: int
    wants: int
    priority: int

    @property
    def is_deferred(self) -> bool:
        return self.wants != self.has

    @property
    def wish(self) -> int:
        return max(self.has, self.wants)


sizes, priorities = st.integers(1, 6), st.integers(0, 3)
guests = st.builds(Guest, has=st.integers(1, 4), wants=sizes, priority=priorities)
askers = st.builds(lambda has, more, p: Guest(has, has + more, p), st.integers(1, 4), sizes, priorities)


# --- the plain reading ---------------------------------------------------------------------------


def is_served_first(other: Guest, asker: Guest, everybody: list[Guest]) -> bool:
    stay = [g.has for g in everybody if g is not other and g.priority >= other.priority]
    possible = sum(stay) + other.wish <= CAPACITY
    return other.is_deferred and other.priority > asker.priority and possible


def fits(asker: Guest, others: list[Guest], everybody: list[Guest], accounting: Accounting) -> bool:
    """``others`` are the pods that are still there."""
    counted = sum(
        other.wish
        if accounting is Accounting.UPSTREAM or is_served_first(other, asker, everybody)
        else other.has
        for other in others
    )
    return counted + asker.wish <= CAPACITY


# --- the same as objects -------------------------------------------------------------------------


def decoded(body: dict[str, object]) -> KubernetesObject:
    found = decode_value(body)
    assert isinstance(found, Decoded)
    return found.object


def a_pod(name: str, guest: Guest) -> KubernetesObject:
    has = {"requests": {"cpu": guest.has}}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": guest.wants}}}
    status: dict[str, object] = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
    if guest.is_deferred:
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]
        status["containerStatuses"] = [{"name": "c", "allocatedResources": has["requests"], "resources": has}]
    spec = {"nodeName": "n", "priority": guest.priority, "containers": [container]}
    meta = {"name": name, "namespace": "default", "uid": name}
    return decoded({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status})


def a_node() -> KubernetesObject:
    status = {"allocatable": {"cpu": CAPACITY, "pods": 110}}
    return decoded({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status})


@given(askers, st.lists(guests, max_size=6), st.sampled_from(Accounting))
def test_it_fits_if_the_plain_reading_says_so_and_none_goes_in_vain(
    asker: Guest, others: list[Guest], accounting: Accounting
) -> None:
    everybody = [asker, *others]
    built = build([a_node(), *(a_pod(f"p{i}", guest) for i, guest in enumerate(everybody))]).snapshot
    demand, view = DeferredResizes(accounting).demand(built, built.pods.rows["default", "p0"], now=0)
    found = place(demand, view)
    assert isinstance(found, Placement) == fits(asker, others, everybody, accounting)
    if isinstance(found, Placement):
        return
    plan = best_plan(Question(demand, view, found.survey, REPRIEVE), now=0)
    lower = [other for other in others if other.priority < asker.priority]
    rest = [other for other in others if other.priority >= asker.priority]
    if isinstance(plan, NoPlan):
        assert not lower or not fits(asker, rest, everybody, accounting)
        return
    names = {built.pods.compiled[row].pod.metadata.name for unit in plan.victims for row in unit.pods}
    gone = {i for i in range(len(everybody)) if f"p{i}" in names}
    staying = [guest for i, guest in enumerate(everybody) if i not in gone and i]
    assert all(everybody[i].priority < asker.priority for i in gone)
    assert fits(asker, staying, everybody, accounting)
    for i in gone:
        assert not fits(asker, [*staying, everybody[i]], everybody, accounting), "it could have stayed"
