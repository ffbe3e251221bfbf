"""What preemptors and victims read of each other: names within a namespace, numbers beyond it."""

from reprieve.model.effects import Target
from reprieve.scheduler.reporting.preemption_notes import (
    AnnouncedPreemptor,
    AnnouncedVictims,
    mark_text,
    preempted,
    preempted_without_plan,
    preempting,
)

URGENT = AnnouncedPreemptor(Target("Pod", "team-a", "urgent", "uid-u"), 1000, "d-1")


def pod(name: str, namespace: str = "team-a") -> Target:
    return Target("Pod", namespace, name, f"uid-{name}")


def note(*victims: Target, excess: tuple[tuple[str, int], ...] = (), **priorities: int) -> str:
    nodes = dict.fromkeys(victims, "n1")
    known = {victim: priorities[victim.name] for victim in victims if victim.name in priorities}
    event = preempting(URGENT, AnnouncedVictims(victims, nodes, known, excess))
    assert event is not None
    return event.note


def test_victims_of_the_own_namespace_are_named_and_then_counted() -> None:
    assert note(pod("a"), pod("b")) == "preempting 2 pods on n1: a, b (decision d-1)"
    many = note(*(pod(f"p-{i}") for i in range(5)))
    assert many == "preempting 5 pods on n1: p-0, p-1, p-2 and 2 more (decision d-1)"


def test_of_other_namespaces_only_numbers() -> None:
    others = note(pod("a"), pod("x", "team-b"), pod("y", "team-c"), x=50, y=7)
    assert others == (
        "preempting 3 pods on n1: a, and 2 pods of other namespaces (highest priority 50) (decision d-1)"
    )


def test_budgets_that_are_exceeded() -> None:
    excess = (("team-a/batch", 2), ("team-b/secret", 1))
    assert note(pod("a"), excess=excess) == (
        "preempting 1 pod on n1: a; exceeds PodDisruptionBudget batch by 2 and 1 PodDisruptionBudget "
        "of other namespaces (decision d-1)"
    )


def test_without_victims_there_is_nothing_to_tell() -> None:
    assert preempting(URGENT, AnnouncedVictims((), {}, {}, ())) is None


def test_a_victim_of_the_own_namespace_learns_a_name() -> None:
    event = preempted(pod("a"), URGENT, "n1", "PodGroup train")
    assert event.related == URGENT.target
    assert event.note == (
        "Preempted by pod urgent on node n1, with all of PodGroup train: the preemptor's priority is 1000 "
        "(decision d-1); more: reprieve why pod/a -n team-a"
    )


def test_a_victim_of_another_namespace_learns_a_uid() -> None:
    event = preempted(pod("x", "team-b"), URGENT, "n1")
    assert event.related is None
    assert event.note.startswith("Preempted by pod uid-u on node n1: the preemptor's priority is 1000 ")
    assert "urgent" not in event.note
    assert "team-a" not in event.note


def test_what_a_mark_says_is_enough_for_the_event_of_the_next_leader() -> None:
    for victim in (pod("a"), pod("x", "team-b")):
        first = preempted(victim, URGENT, "n1")
        again = preempted_without_plan(victim, mark_text(URGENT, victim.namespace), "n1")
        assert again is not None
        assert (again.note, again.suffix) == (first.note, first.suffix)


def test_a_mark_of_an_earlier_version_is_understood() -> None:
    text = "reprieve: preempting to accommodate a higher priority podgroup (decision d-7)"
    event = preempted_without_plan(pod("a"), text, "n1")
    assert event is not None
    assert event.note == "Preempted by a higher priority podgroup (decision d-7)"
    assert preempted_without_plan(pod("a"), "default-scheduler: preempting", "n1") is None
