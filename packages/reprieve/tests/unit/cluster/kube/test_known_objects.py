"""What was shown: nothing twice, namesakes one after the other, and what vanished is missed."""

from reprieve.cluster.api.codec import Decoded, Unreadable
from reprieve.cluster.kube.known_objects import KnownObject, KnownObjects
from reprieve.cluster.port import ClusterEvent
from reprieve.model.effects import Target
from reprieve.model.events import Gone, Seen, Unread
from reprieve.model.objects import Condition, ObjectMeta, Pod, PodStatus, Problem, Ref


def meta(name: str, uid: str = "u1", version: str = "1") -> ObjectMeta:
    return ObjectMeta(name=name, namespace="team", uid=uid, resource_version=version)


def show(mirror: KnownObjects, what: ObjectMeta) -> list[ClusterEvent]:
    return list(mirror.show(what, Decoded(object=Pod(metadata=what))))


def target(name: str, uid: str = "u1") -> Target:
    return Target("Pod", "team", name, uid)


def test_the_same_version_is_shown_once() -> None:
    mirror = KnownObjects("Pod")
    assert show(mirror, meta("a")) == [Seen(Pod(metadata=meta("a")))]
    assert show(mirror, meta("a")) == []
    assert len(show(mirror, meta("a", version="2"))) == 1


def test_a_namesake_comes_after_the_old_one_went() -> None:
    mirror = KnownObjects("Pod")
    show(mirror, meta("a"))
    new = meta("a", uid="u2", version="1")
    assert show(mirror, new) == [Gone(target("a")), Seen(Pod(metadata=new))]
    assert list(mirror.remove(meta("a", uid="u1"))) == []
    assert list(mirror.remove(new)) == [Gone(target("a", "u2"))]


def test_what_a_list_does_not_have_is_gone() -> None:
    mirror = KnownObjects("Pod")
    for name in "abc":
        show(mirror, meta(name))
    mirror.begin_list()
    assert show(mirror, meta("b")) == []
    assert list(mirror.end_list()) == [Gone(target("a")), Gone(target("c"))]
    assert list(mirror.end_list()) == []


def test_what_a_list_has_comes_before_what_is_gone() -> None:
    """The scheduler concludes from the last deletion that no earlier change is still to come."""
    mirror = KnownObjects("Pod")
    for name in "abc":
        show(mirror, meta(name))
    mirror.begin_list()
    new, late = meta("a", uid="u2"), meta("late")
    assert show(mirror, new) == []
    assert show(mirror, meta("b")) == []
    assert show(mirror, late) == [Seen(Pod(metadata=late))]
    assert list(mirror.end_list()) == [Gone(target("a")), Seen(Pod(metadata=new)), Gone(target("c"))]
    assert mirror.find(target("a", "u2")) is not None


def test_a_namesake_that_a_streamed_list_deletes_again_is_not_shown() -> None:
    mirror = KnownObjects("Pod")
    show(mirror, meta("a"))
    mirror.begin_list()
    show(mirror, meta("a", uid="u2"))
    assert list(mirror.remove(meta("a", uid="u2"))) == []
    assert list(mirror.end_list()) == [Gone(target("a"))]


def test_an_incomplete_list_deletes_nothing() -> None:
    mirror = KnownObjects("Pod")
    for name in "ab":
        show(mirror, meta(name))
    mirror.begin_list()
    show(mirror, meta("a", version="2"))
    mirror.begin_list()
    assert list(mirror.end_list()) == [Gone(target("a")), Gone(target("b"))]


def test_what_cannot_be_read_is_known_too() -> None:
    mirror = KnownObjects("Pod")
    broken = Unreadable(
        problem=Problem(ref=Ref(kind="Pod", namespace="team", name="a"), path="", expected="")
    )
    assert list(mirror.show(meta("a"), broken)) == [Unread(target("a"), broken.problem)]
    assert mirror.find(target("a")) == KnownObject("u1", "1")
    assert list(mirror.remove(meta("a"))) == [Gone(target("a"))]


def test_conditions_are_found_by_the_uid() -> None:
    mirror, ready = KnownObjects("Pod"), (Condition(type="Ready", status="True"),)
    shown = Pod(metadata=meta("a"), status=PodStatus(conditions=ready))
    assert list(mirror.show(shown.metadata, Decoded(object=shown))) == [Seen(shown)]
    assert mirror.find(target("a")) == KnownObject("u1", "1", conditions=ready)
    assert mirror.find(target("a", "u2")) is None
