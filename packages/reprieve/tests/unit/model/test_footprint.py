"""What pods weigh: desired, allocated, actual, and what follows from the three."""

from typing import Any

from tests.unit.model.things import a_pod, container, no_problems, paths, sidecar

from reprieve.model.footprint import Footprint, footprint
from reprieve.model.objects import Pod

MI = 1 << 20


def weighed(pod: Pod) -> Footprint:
    problems = no_problems()
    weight = footprint(pod, problems)
    assert paths(problems) == []
    return weight


def test_thousandths_are_added_before_they_are_rounded() -> None:
    pod = a_pod(containers=[container("a", memory="100m"), container("b", memory="200m")])
    assert weighed(pod).charged == {"memory": 1}


def test_sidecars_run_beside_everything_that_comes_after_them() -> None:
    starting = [container("i", cpu="3"), sidecar("s", cpu="1"), container("j", cpu="3")]
    assert weighed(a_pod(containers=[container(cpu="1")], initContainers=starting)).charged == {"cpu": 4000}
    assert weighed(a_pod(containers=[container(cpu="9")], initContainers=starting)).charged == {"cpu": 10000}


def test_requests_of_the_pod_override_those_of_its_containers() -> None:
    pod = a_pod(
        containers=[container(cpu="1", memory="5Mi")],
        resources={"requests": {"cpu": "3"}},
        overhead={"cpu": "100m"},
    )
    assert weighed(pod).charged == {"cpu": 3100, "memory": 5 * MI}


def test_containers_that_ask_nothing_count_a_little_when_nodes_are_compared() -> None:
    pod = a_pod(containers=[container("a", cpu="1"), container("b", cpu="0"), container("c")])
    weight = weighed(pod)
    assert weight.charged == {"cpu": 1000}
    assert (weight.nonzero_cpu, weight.nonzero_memory) == (1100, 3 * 200 * MI)


# --- resizing ------------------------------------------------------------------------------------


def resizing(reason: str = "Deferred", **status: Any) -> Pod:
    """Wants 3 cpu, has 1 or 2."""
    conditions = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    statuses = [{"name": "c", **status}]
    return a_pod(
        containers=[container(cpu="3", memory="10Mi")],
        status={"conditions": conditions, "containerStatuses": statuses},
    )


ALLOCATED = {"cpu": "1", "memory": "20Mi"}
ACTUAL = {"requests": {"cpu": "2", "memory": "5Mi"}}


def test_a_resizing_pod_has_three_footprints_and_is_charged_the_largest_of_each_resource() -> None:
    weight = weighed(resizing(allocatedResources=ALLOCATED, resources=ACTUAL))
    assert weight.desired == {"cpu": 3000, "memory": 10 * MI}
    assert weight.allocated == {"cpu": 1000, "memory": 20 * MI}
    assert weight.actual == {"cpu": 2000, "memory": 5 * MI}
    assert weight.charged == {"cpu": 3000, "memory": 20 * MI}


def test_an_infeasible_resize_is_not_charged() -> None:
    weight = weighed(resizing("Infeasible", allocatedResources=ALLOCATED, resources=ACTUAL))
    assert weight.desired == {"cpu": 3000, "memory": 10 * MI}
    assert weight.charged == {"cpu": 2000, "memory": 20 * MI}


def pod_level_resize(reason: str, **status: Any) -> Pod:
    """The pod as a whole wants 5 cpu; its container asks for 1."""
    conditions = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    return a_pod(
        containers=[container(cpu="1")],
        resources={"requests": {"cpu": "5"}},
        status={"conditions": conditions, **status},
    )


def test_what_is_reported_for_the_pod_as_a_whole_stands_for_its_containers() -> None:
    status = {"allocatedResources": {"cpu": "3"}, "resources": {"requests": {"cpu": "4"}}}
    deferred = weighed(pod_level_resize("Deferred", **status))
    assert (deferred.allocated["cpu"], deferred.actual["cpu"], deferred.charged["cpu"]) == (3000, 4000, 5000)
    assert weighed(pod_level_resize("Infeasible", **status)).charged == {"cpu": 4000}


def test_others_count_what_a_pod_holds_and_not_what_it_wants() -> None:
    weight = weighed(resizing(allocatedResources=ALLOCATED, resources=ACTUAL))
    assert weight.held == {"cpu": 2000, "memory": 20 * MI}
    assert weighed(a_pod(containers=[container(cpu="1")])).held == {"cpu": 1000}


def test_growth_of_a_container_counts_beside_resources_of_the_whole_pod() -> None:
    """Kubernetes 1.37 forgets it, since the kubelet reports all resources for the pod as a whole."""
    reported = {"cpu": "2", "memory": "1Mi"}
    status = {"allocatedResources": reported, "resources": {"requests": reported}}
    asked = {"requests": {"cpu": "2"}}
    weight = weighed(a_pod(containers=[container(memory="3Mi")], resources=asked, status=status))
    assert (weight.held["memory"], weight.charged["memory"]) == (MI, 3 * MI)


# --- claims --------------------------------------------------------------------------------------


CLAIM = {
    "resourceClaimName": "gpu",
    "containers": ["a", "b"],
    "mapping": [{"name": "cpu", "quantity": "2"}],
    "overhead": [{"name": "memory", "perPod": "1Mi", "perContainer": "2Mi"}],
}


def test_what_a_claim_takes_of_the_node_is_the_pods_weight() -> None:
    status = {"nodeAllocatableResourceClaimStatuses": [CLAIM]}
    weight = weighed(a_pod(containers=[container("a", cpu="1"), container("b")], status=status))
    assert weight.charged == weight.desired == weight.held == {"cpu": 3000, "memory": 5 * MI}


def test_what_is_reported_for_the_whole_pod_has_its_claims_in_it() -> None:
    whole = {"allocatedResources": {"cpu": "3"}, "resources": {"requests": {"cpu": "3"}}}
    status = {"nodeAllocatableResourceClaimStatuses": [CLAIM], **whole}
    weight = weighed(a_pod(containers=[container("a", cpu="1")], status=status))
    assert weight.held == {"cpu": 3000}
    assert weight.charged == {"cpu": 3000, "memory": 5 * MI}


def test_an_amount_of_a_claim_that_is_none_is_reported() -> None:
    claim = {"mapping": [{"name": "cpu", "quantity": "lots"}]}
    pod = a_pod(status={"nodeAllocatableResourceClaimStatuses": [claim]})
    problems = no_problems()
    footprint(pod, problems)
    assert paths(problems) == ["status.nodeAllocatableResourceClaimStatuses[0].mapping[0].cpu"]
