"""What a scheduler learns of evictions before its start, and what it says it does not know."""

from tests.unit.inquiry.asking_why import an_event

from reprieve.assembly.eviction_history import evictions_in
from reprieve.model.json import Json
from reprieve_minicluster.virtual_time import EPOCH

NOW = EPOCH + 3600.0


def preempted(name: str, minutes: float, counts: str, reporter: str = "reprieve") -> Json:
    note = f"Preempted by pod u-1 on node n1 (decision d-1){counts}"
    body = an_event(name, "Preempted", note, minutes, uid=f"uid-{name}", reportingComponent=reporter)
    return {**body, "eventTime": f"2026-01-01T00:{int(minutes):02}:00.000000Z"}


def test_each_pod_of_a_controller_and_each_whole_group_once() -> None:
    whole = "; counts once with all of PodGroup default/g as an eviction of CompositePodGroup default/tree"
    read = evictions_in(
        [
            preempted("b", 30, "; counts as an eviction of Deployment default/web"),
            preempted("a", 20, "; counts as an eviction of Deployment default/web"),
            preempted("m0", 40, whole),
            preempted("m1", 40, whole),
        ],
        NOW,
        3600.0,
    )
    tree = "CompositePodGroup/default/tree"
    assert {one.key: (one.workload, one.at - EPOCH) for one in read.evictions} == {
        "uid-a": ("Deployment/default/web", 1200.0),
        "uid-b": ("Deployment/default/web", 1800.0),
        "PodGroup/default/g@d-1": (tree, 2400.0),
    }
    assert (read.since, read.lost) == (EPOCH, "")
    assert len(read.evictions) == 3


def test_what_names_no_workload_is_lost_and_said() -> None:
    read = evictions_in([preempted("a", 20, ""), preempted("b", 20, "", "default-scheduler")], NOW, 3600.0)
    assert read.evictions == ()
    assert read.lost == "1 event of victims without the name of a workload do not count"


def test_a_window_longer_than_events_are_kept_is_said() -> None:
    read = evictions_in([], NOW, 7200.0)
    assert (read.since, read.lost) == (EPOCH, "the API server keeps events for 1 h by default")


def test_what_has_left_the_window_is_not_looked_at() -> None:
    assert evictions_in([preempted("a", 20, "")], NOW, 600.0).lost == ""


def test_an_event_says_nothing_about_other_namespaces() -> None:
    """A user that may create events in one namespace must not protect pods of another."""
    forged = preempted("a", 20, "; counts as an eviction of Deployment kube-system/dns")
    assert evictions_in([forged], NOW, 3600.0).evictions == ()
