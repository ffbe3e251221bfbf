"""The page's example: any cluster that the page shows can be asked about it."""

import asyncio
import json
from typing import Any

import pytest
import yaml
from tests.unit.inquiry.objects import classes, node, pod, priority_class

from reprieve.assembly.page_questions import AskedCluster, ClusterQuestions
from reprieve.inquiry.decoded_cluster import decoded
from reprieve.inquiry.joined_files import cluster_in
from reprieve.inquiry.object_files import parse_objects

NODES = [node("n1", cpu="8"), node("n2", cpu="8")]
SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "q", "namespace": "default"},
    "spec": {"hard": {"pods": "1"}},
    "status": {"hard": {"pods": "1"}, "used": {"pods": "1"}},
}


def asked(*objects: Any) -> tuple[Any, Any]:
    """The example's pod, and the answer of what-if about it."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    cluster = decoded(cluster_in([parse_objects(text, "test")], 0.0))

    async def read(_: float | None) -> AskedCluster:
        return AskedCluster(lambda: cluster, ())

    async def both() -> tuple[Any, Any]:
        questions = ClusterQuestions(read)
        example = (await questions.example(None))["yaml"]
        return yaml.safe_load(example), await questions.whatif(example.encode(), None)

    return asyncio.run(both())


def test_it_preempts_where_a_class_and_victims_allow_it() -> None:
    running = [pod(f"low-{n}", cpu="6", on=f"n{n}", level="low") for n in (1, 2)]
    shown, answer = asked(*classes(), *NODES, *running)
    assert shown["spec"]["priorityClassName"] == "urgent"
    assert (answer["outcome"], len(answer["preemption"]["victims"])) == ("Preempts", 1)


def test_without_classes_it_fits() -> None:
    shown, answer = asked(*NODES)
    assert "priorityClassName" not in shown["spec"]
    assert answer["outcome"] == "Fits"


def test_classes_of_the_cluster_itself_are_not_used() -> None:
    shown, answer = asked(priority_class("system-node-critical", value=2_000_001_000), *NODES)
    assert "priorityClassName" not in shown["spec"]
    assert answer["outcome"] == "Fits"


@pytest.mark.parametrize("more", [[QUOTA], []], ids=["full quota", "plain"])
def test_a_namespace_is_chosen_that_takes_it(more: list[Any]) -> None:
    low = pod("low", on="n1", level="low", namespace="team")
    shown, answer = asked(*classes(), *NODES, SPACE, low, *more)
    assert shown["metadata"]["namespace"] == ("team" if more else "default")
    assert answer["outcome"] in {"Fits", "Preempts"}


def test_it_can_be_applied_and_asked_about_again() -> None:
    shown, answer = asked(*NODES, pod("example-1", on="n1", level=""))
    assert (shown["metadata"]["namespace"], shown["metadata"]["name"]) == ("default", "example-2")
    assert answer["outcome"] == "Fits"


def test_a_class_that_never_preempts_is_not_used() -> None:
    shown, _ = asked(priority_class("patient", value=900, preemptionPolicy="Never"), *NODES)
    assert "priorityClassName" not in shown["spec"]


def test_an_empty_cluster_has_one_too() -> None:
    _, answer = asked(priority_class("only", value=5))
    assert answer["outcome"] == "Unschedulable"
