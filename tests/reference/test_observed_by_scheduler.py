"""The recorded decisions once more, by a whole scheduler that was told nothing but `policy: Upstream`.

And that resizes may have others evicted, which by default they may not.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from tests.unit.config import configuration

from reprieve.assembly.scheduler_settings import settings_of
from reprieve.config.gates import parse_feature_gates
from reprieve.model.events import Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.preemption.criteria import Criterion, Victims
from reprieve.preemption.policy import Policy
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve.scheduler.settings import Settings
from tests.reference.observed_cases import Case, Observation, read_case
from tests.reference.observed_deciders import as_recorded
from tests.reference.recorded_files import FILES

OURS = "reprieve"


GATES = parse_feature_gates(
    "InPlacePodVerticalScalingSchedulerPreemption=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"
)


def settings_for(case: Case, recorded: Observation) -> Settings:
    """Where several nodes are equally good, or several plans, the recorded one is taken."""
    args = [{"name": "Reprieve", "args": {"policy": "Upstream"}}]
    settings = settings_of(configuration(profiles=[{"pluginConfig": args}]), GATES)
    policies = {name: _guided(policy, case, recorded) for name, policy in settings.policies.items()}
    return replace(settings, policies=policies)


def _guided(policy: Policy, case: Case, recorded: Observation) -> Policy:
    nodes = {*recorded.nominated.values()}
    node_of = {pod.metadata.name: pod.spec.node_name for pod in case.objects if isinstance(pod, Pod)}

    def is_elsewhere(victims: Victims) -> bool:
        """Whether no victim leaves a node that was nominated."""
        rows = (row for unit in victims.units for row in unit.pods)
        return not any(node_of[case.view.pods.compiled[row].pod.metadata.name] in nodes for row in rows)

    elsewhere = Criterion("Recorded", "Recorded", "recorded so", of_victims=is_elsewhere)
    return replace(policy, choose=as_recorded(recorded), disturbance=(*policy.disturbance, elsewhere))


def first_decision(case: Case, recorded: Observation) -> Decision | None:
    scheduler = Scheduler(settings_for(case, recorded))
    scheduler.observe([*(Seen(_ours(thing)) for thing in case.objects), Synced()], now=on_one_clock(0.0))
    decided = scheduler.decide(now=on_one_clock(0.0))
    return decided.decision if decided is not None else None


def _ours(thing: KubernetesObject) -> KubernetesObject:
    """With a UID, and for our scheduler."""
    uid = f"{type(thing).__name__}/{thing.metadata.name}"
    thing = msgspec.structs.replace(thing, metadata=msgspec.structs.replace(thing.metadata, uid=uid))
    if not isinstance(thing, Pod):
        return thing
    return msgspec.structs.replace(thing, spec=msgspec.structs.replace(thing.spec, scheduler_name=OURS))


def agrees(decision: Decision | None, recorded: Observation) -> bool:
    """For pods that simply fit, that they do; which of equal nodes they take is compared elsewhere."""
    if decision is None or decision.outcome in (Outcome.UNSCHEDULABLE, Outcome.FITS):
        return recorded.outcome == "nothing"
    places = {pod.name: node for pod, node in decision.places}
    if decision.outcome is Outcome.PLACED:
        return recorded.outcome == "placed" and places.keys() == recorded.placed.keys()
    taken = decision.preemption.victims if decision.preemption is not None else ()
    return places == recorded.nominated and {victim.pod.name for victim in taken} == recorded.victims


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_scheduler_decides_as_recorded(path: Path) -> None:
    case = read_case(path)
    recorded = [with_its_node(case, observation) for observation in case.observed]
    assert any(agrees(first_decision(seen, each), each) for seen in as_it_came(case) for each in recorded)


def as_it_came(case: Case) -> Iterator[Case]:
    """Pods of a tree that no group needs may have come too late for the decision that was recorded."""
    yield case
    pods = [case.view.pods.compiled[row].pod for row in case.newcomers] if case.is_tree else []
    for count in range(1, len(pods)):
        late = {pod.metadata.name for pod in pods[-count:]}
        there = (one for one in case.objects if not isinstance(one, Pod) or one.metadata.name not in late)
        yield replace(case, objects=tuple(there))


def with_its_node(case: Case, recorded: Observation) -> Observation:
    """A pod that grows has its node, and none was nominated."""
    if case.resize is None or recorded.outcome == "nothing":
        return recorded
    row = case.view.pods.rows["default", case.resize.pod]
    node = case.view.nodes.names[int(case.view.where[row])]
    return msgspec.structs.replace(recorded, nominated={case.resize.pod: node})


def test_resizes_are_decided_about() -> None:
    """All of them: nothing was seen to happen where they fit, and where no pod may be evicted for them."""
    cases = [case for case in map(read_case, FILES) if case.resize is not None]
    outcomes = [d.outcome for case in cases if (d := first_decision(case, case.observed[0])) is not None]
    assert Counter(outcomes) == {Outcome.FITS: 13, Outcome.UNSCHEDULABLE: 5, Outcome.PREEMPTS: 4}
