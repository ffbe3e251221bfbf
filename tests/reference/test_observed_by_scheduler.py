"""The recorded decisions once more, by a whole scheduler that was told nothing but `policy: Upstream`."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from reprieve.assembly import settings_of
from reprieve.model.events import Seen, Synced
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.decision import Decision, Outcome
from reprieve.scheduler.settings import Settings
from tests.reference.observed_cases import Case, Observation, read_case
from tests.reference.observed_deciders import as_recorded
from tests.unit.config import configuration

FILES = sorted((Path(__file__).parent / "observed").glob("*.json"))
OURS = "reprieve"


def settings_for(recorded: Observation) -> Settings:
    """Where several nodes are equally good, the recorded one is taken."""
    args = [{"name": "Reprieve", "args": {"policy": "Upstream"}}]
    settings = settings_of(configuration(profiles=[{"pluginConfig": args}]))
    chosen = {n: replace(p, choose=as_recorded(recorded)) for n, p in settings.policies.items()}
    return replace(settings, policies=chosen)


def first_decision(case: Case, recorded: Observation) -> Decision | None:
    scheduler = Scheduler(settings_for(recorded))
    scheduler.observe([*(Seen(_ours(thing)) for thing in case.objects), Synced()], now=0.0)
    decided = scheduler.decide(now=0.0)
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
    if decision is None or decision.outcome is Outcome.UNSCHEDULABLE:
        return recorded.outcome == "nothing"
    places = {pod.name: node for pod, node in decision.places}
    if decision.outcome is Outcome.PLACED:
        return recorded.outcome == "placed" and places.keys() == recorded.placed.keys()
    taken = decision.preemption.victims if decision.preemption is not None else ()
    return places == recorded.nominated and {victim.pod.name for victim in taken} == recorded.victims


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_scheduler_decides_as_recorded(path: Path) -> None:
    case = read_case(path)
    if case.resize is None:
        assert any(agrees(first_decision(case, recorded), recorded) for recorded in case.observed)
