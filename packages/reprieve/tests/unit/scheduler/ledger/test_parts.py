"""Which demand a pod is part of: one at a time, and both ways."""

from tests.unit.scheduler.making import a_key

from reprieve.model.effects import Target
from reprieve.scheduler.demand_key import DemandKind
from reprieve.scheduler.ledger import Parts

A, B = (Target("Pod", "default", name, f"uid-{name}") for name in "ab")
GANG, ALONE = a_key("g", DemandKind.GROUP), a_key("a")


def test_a_pod_is_part_of_one_demand_at_a_time() -> None:
    parts = Parts()
    parts.join(A, ALONE)
    parts.join(B, GANG)
    parts.join(A, GANG)
    assert (parts[A], parts.get(B), len(parts)) == (GANG, GANG, 2)
    assert (parts.pods(ALONE), parts.pods(GANG)) == (frozenset(), frozenset({A, B}))
    assert parts.demands() == [GANG]
    parts.leave(A)
    assert (A in parts, parts.get(A), list(parts)) == (False, None, [(B, GANG)])
    assert parts.pods(GANG) == {B}
