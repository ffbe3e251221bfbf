"""Quantities, what pods request, and the bounds that keep sums from wrapping."""

from typing import Any

import numpy as np
import pytest

from reprieve.model.build import build
from reprieve.model.objects import Pod
from reprieve.model.resources import (
    BOUND,
    Footprint,
    ResourceAxis,
    footprint,
    is_counted,
    milli,
    node_capacity,
    read_amounts,
    rounded,
)
from tests.unit.model.things import a_node, a_pod, container, no_problems, paths, sidecar

MI = 1 << 20


# --- quantities ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [
        ("0", 0),
        ("1", 1000),
        ("1.5", 1500),
        (".5", 500),
        ("5.", 5000),
        ("+2", 2000),
        ("100m", 100),
        ("1500000u", 1500),
        ("2000000000n", 2000),
        ("3k", 3 * 10**6),
        ("3M", 3 * 10**9),
        ("3G", 3 * 10**12),
        ("3T", 3 * 10**15),
        ("3P", 3 * 10**18),
        ("3E", 3 * 10**21),
        ("3Ki", 3 * 1000 << 10),
        ("3Mi", 3 * 1000 << 20),
        ("3Gi", 3 * 1000 << 30),
        ("3Ti", 3 * 1000 << 40),
        ("3Pi", 3 * 1000 << 50),
        ("3Ei", 3 * 1000 << 60),
        ("1e3", 10**6),
        ("1E3", 10**6),
        ("12e-1", 1200),
        ("0.5Gi", 500 << 30),
        ("-1", -1000),
        (2, 2000),
        (0.25, 250),
    ],
)
def test_a_quantity_in_thousandths(text: str | int | float, thousandths: int) -> None:
    assert milli(text) == thousandths


@pytest.mark.parametrize(("text", "thousandths"), [("1n", 1), ("100u", 1), ("0.0001", 1), ("1.0001", 1001)])
def test_what_is_finer_than_a_thousandth_is_rounded_up(text: str, thousandths: int) -> None:
    assert milli(text) == thousandths


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 ",
        "m",
        ".",
        "-",
        "1x",
        "1ki",
        "1KI",
        "1e",
        "1.2.3",
        "0x10",
        "1_000",
        "٣",
        "NaN",
        "9" * 2000,
    ],
)
def test_what_is_not_a_quantity(text: str) -> None:
    assert milli(text) is None


def test_an_enormous_exponent_is_read_without_effort() -> None:
    enormous, tiny = milli("1e999999999"), milli("1e-999999999")
    assert enormous is not None
    assert enormous > BOUND * 1000
    assert tiny == 1


def test_what_cannot_be_read_is_reported_and_left_out() -> None:
    problems = no_problems()
    assert read_amounts({"cpu": "lots", "memory": "-1", "pods": "3"}, "here", problems) == {"pods": 3000}
    assert paths(problems) == ["here.cpu", "here.memory"]


def test_cpu_is_counted_in_thousandths_and_the_rest_in_whole_units() -> None:
    assert rounded("cpu", 1500) == 1500
    assert rounded("memory", 1500) == 2


@pytest.mark.parametrize(
    "name", ["cpu", "pods", "example.com/gpu", "hugepages-2Mi", "attachable-volumes-csi"]
)
def test_names_that_fill_up_nodes(name: str) -> None:
    assert is_counted(name)


@pytest.mark.parametrize("name", ["storage", "requests.example.com/gpu", "services"])
def test_names_that_do_not(name: str) -> None:
    assert not is_counted(name)


def test_the_axis_keeps_its_rows_when_it_grows() -> None:
    axis = ResourceAxis().extended(["b.example/x", "a.example/y", "cpu"])
    assert axis.names == ("cpu", "memory", "ephemeral-storage", "pods", "a.example/y", "b.example/x")
    assert axis.row("memory") == 1
    assert axis.row("unheard.of/z") is None


# --- what a pod requests -------------------------------------------------------------------------


def weighed(pod: Pod) -> Footprint:
    problems = no_problems()
    weight = footprint(pod, problems)
    assert paths(problems) == []
    return weight


def test_containers_add_up() -> None:
    pod = a_pod(containers=[container("a", cpu="1", memory="10Mi"), container("b", cpu="500m")])
    assert weighed(pod).charged == {"cpu": 1500, "memory": 10 * MI}


def test_thousandths_are_added_before_they_are_rounded() -> None:
    pod = a_pod(containers=[container("a", memory="100m"), container("b", memory="200m")])
    assert weighed(pod).charged == {"memory": 1}


def test_init_containers_run_one_at_a_time_before_the_others() -> None:
    starting = [container("i", cpu="3"), container("j", cpu="2", memory="1Mi")]
    pod = a_pod(containers=[container(cpu="1")], initContainers=starting)
    assert weighed(pod).charged == {"cpu": 3000, "memory": MI}


def test_sidecars_run_beside_everything_that_comes_after_them() -> None:
    starting = [container("i", cpu="3"), sidecar("s", cpu="1"), container("j", cpu="3")]
    assert weighed(a_pod(containers=[container(cpu="1")], initContainers=starting)).charged == {"cpu": 4000}
    assert weighed(a_pod(containers=[container(cpu="9")], initContainers=starting)).charged == {"cpu": 10000}


def test_overhead_comes_on_top() -> None:
    pod = a_pod(containers=[container(cpu="1")], overhead={"cpu": "100m", "memory": "1Mi"})
    assert weighed(pod).charged == {"cpu": 1100, "memory": MI}


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


def test_requests_of_the_pod_need_no_floor_where_they_speak() -> None:
    pod = a_pod(containers=[container("a"), container("b")], resources={"requests": {"cpu": "3"}})
    weight = weighed(pod)
    assert (weight.nonzero_cpu, weight.nonzero_memory) == (3000, 2 * 200 * MI)


def test_a_pod_with_requests_of_its_own_needs_no_floor_where_any_container_speaks() -> None:
    containers = [container("a", memory="10Mi"), container("b")]
    weight = weighed(a_pod(containers=containers, resources={"requests": {"cpu": "3"}}))
    assert weight.nonzero_memory == 10 * MI


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


def test_what_the_node_does_not_report_is_what_it_was_granted_and_that_what_was_asked() -> None:
    assert weighed(resizing(allocatedResources=ALLOCATED)).actual == {"cpu": 1000, "memory": 20 * MI}
    assert weighed(resizing(resources=ACTUAL)).allocated == {"cpu": 3000, "memory": 10 * MI}


def test_an_infeasible_resize_is_not_taken_for_what_an_unreported_container_holds() -> None:
    assert weighed(resizing("Infeasible", resources=ACTUAL)).allocated == {}
    assert weighed(resizing("Infeasible")).charged == {}


def test_statuses_that_repeat_the_spec_change_nothing() -> None:
    asked = {"cpu": "3", "memory": "10Mi"}
    settled = weighed(resizing(allocatedResources=asked, resources={"requests": asked}))
    assert settled.charged == settled.desired == settled.allocated == settled.actual


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


def test_what_is_reported_for_the_pod_may_be_incomplete() -> None:
    actual_only = {"resources": {"requests": {"cpu": "4"}}}
    assert weighed(pod_level_resize("Infeasible", **actual_only)).charged == {"cpu": 4000}
    allocated_only = {"allocatedResources": {"cpu": "3"}}
    assert weighed(pod_level_resize("Infeasible", **allocated_only)).charged == {"cpu": 5000}


# --- bounds --------------------------------------------------------------------------------------


def test_a_request_beyond_the_bound_fits_on_no_node() -> None:
    boundless = node_capacity(a_node(memory="9999Ei"), no_problems())
    greedy = weighed(a_pod(containers=[container(memory="8000Ei")]))
    assert greedy.charged["memory"] > boundless["memory"]


def test_sums_of_enormous_requests_do_not_wrap() -> None:
    greedy = [a_pod(f"p{i}", on="n", containers=[container(memory="1e60", cpu="1e60")]) for i in range(5000)]
    snapshot = build([a_node("n", memory="1e60", cpu="1e60"), *greedy]).snapshot
    assert snapshot.requested[1, 0] == 5000 * BOUND
    assert np.all(snapshot.requested >= 0)
    assert np.all(snapshot.nonzero >= 0)
    assert np.all(snapshot.allocatable * 100 >= 0), "scores multiply by a hundred"
