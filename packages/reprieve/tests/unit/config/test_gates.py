"""Feature gates: defaults, prerequisites, contradictions."""

import msgspec
import pytest
from tests.unit.config import complaints

from reprieve.config import Gates, ignored_gates, parse_feature_gates
from reprieve.config.gates import PREREQUISITES

RESIZE = "InPlacePodVerticalScalingSchedulerPreemption"


def test_nothing_said_means_the_defaults() -> None:
    gates = parse_feature_gates("")
    assert gates == Gates()
    assert gates.generic_workload and gates.gang_scheduling and gates.workload_aware_preemption
    assert gates.scheduler_async_preemption and gates.preemption_toleration
    assert not gates.in_place_pod_vertical_scaling_scheduler_preemption
    assert not gates.topology_aware_workload_scheduling and not gates.composite_pod_group


def test_what_is_not_named_may_be_other_than_the_defaults() -> None:
    everything = Gates(**dict.fromkeys(Gates.__struct_fields__, True))
    assert parse_feature_gates("", everything) == everything
    fewer = msgspec.structs.replace(everything, workload_aware_preemption=False)
    assert parse_feature_gates("WorkloadAwarePreemption=false", everything) == fewer
    assert not any(
        getattr(parse_feature_gates("GenericWorkload=false", everything), name)
        for name in ("gang_scheduling", "composite_pod_group", "workload_aware_preemption")
    )


def test_each_gate_can_be_turned_on_with_its_prerequisites() -> None:
    names = [field.encode_name for field in msgspec.structs.fields(Gates)]
    all_on = parse_feature_gates(", ".join(f"{name}=true" for name in names))
    assert set(msgspec.structs.astuple(all_on)) == {True}


@pytest.mark.parametrize("name", PREREQUISITES)
def test_a_gate_that_is_named_is_refused_without_its_prerequisites(name: str) -> None:
    off = [f"{needed}=false" for needed in PREREQUISITES[name]]
    said = complaints(lambda: parse_feature_gates(",".join([*off, f"{name}=true"])))
    needed = " and ".join(PREREQUISITES[name])
    assert said == [f"feature gate {name}: needs {needed} to be enabled"]


def test_the_older_name_of_the_resize_gate_means_the_same() -> None:
    gates = parse_feature_gates("SchedulerPreemptionForPodResize=true")
    assert gates.in_place_pod_vertical_scaling_scheduler_preemption


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            f"{RESIZE}=true,SchedulerPreemptionForPodResize=false",
            f"feature gate SchedulerPreemptionForPodResize: false contradicts {RESIZE}=true",
        ),
        (
            "PreemptionToleration=true,PreemptionToleration=false",
            "feature gate PreemptionToleration: false contradicts PreemptionToleration=true",
        ),
        (
            "GangSchedulin=true",
            'feature gate GangSchedulin: unknown (did you mean "GangScheduling"?)',
        ),
        (
            "AllAlpha=true",
            "feature gate AllAlpha: cannot be true: list the gates by name instead",
        ),
        (
            "AllBeta=false",
            "feature gate AllBeta: cannot be false: list the gates by name instead",
        ),
        ("Frobnicate=true", "feature gate Frobnicate: unknown"),
        (
            "GangScheduling",
            'feature gate GangScheduling: expected GangScheduling=true or GangScheduling=false, got ""',
        ),
        (
            "GangScheduling=on",
            'feature gate GangScheduling: expected GangScheduling=true or GangScheduling=false, got "on"',
        ),
        (
            "PodLevelResources=false",
            "feature gate PodLevelResources: is always enabled in Reprieve and cannot be disabled",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(text: str, complaint: str) -> None:
    assert complaints(lambda: parse_feature_gates(text)) == [complaint]


def test_optimisations_of_kube_scheduler_are_accepted_and_change_nothing() -> None:
    names = "SchedulerPopFromBackoffQ=false,OpportunisticBatching=true,PodLevelResources=true"
    assert parse_feature_gates(names) == Gates()


def test_gates_of_other_components_are_accepted_and_reported() -> None:
    names = (
        "NodeSwap=true,kube:DynamicResourceAllocation=false,AllAlpha=false,AllBeta=true,GangScheduling=true"
    )
    assert parse_feature_gates(names) == Gates()
    assert ignored_gates(names) == ["DynamicResourceAllocation", "NodeSwap"]
    assert parse_feature_gates("kube:GangScheduling=false").gang_scheduling is False


def test_all_errors_are_reported_at_once() -> None:
    said = complaints(lambda: parse_feature_gates("Foo=true,GangScheduling=maybe"))
    assert len(said) == 2
