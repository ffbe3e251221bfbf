"""What any implementation of the port must do, as checks that run against a given cluster.

An administrator creates and deletes objects behind the scheduler's back. A check looks at its own objects
only, so that it also holds on a cluster that is in use.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any

from reprieve.model.effects import (
    Announce,
    Bind,
    BindVolume,
    Evict,
    Nominate,
    SelectNode,
    SetCondition,
    Target,
    Tone,
    WriteStatus,
)
from reprieve.model.objects import Condition
from reprieve.testing.contract_fixture import ClusterFixture, RecordingWatcher, event_target, expect


async def lists_then_watches(fixture: ClusterFixture) -> None:
    node, early = await fixture.node("node"), await fixture.pod("early")
    async with RecordingWatcher(fixture) as watcher:
        for target in (node, early):
            expect(watcher.before_sync(target), f"{target} existed, and must be listed before Synced")
        late = await fixture.pod("late")
        await watcher.until(lambda: watcher.sees(late), f"{late} was created, and must be shown")
        expect(not watcher.before_sync(late), f"{late} was created after Synced")


async def delivers_changes_in_order(fixture: ClusterFixture) -> None:
    pod = await fixture.pod("pod")
    async with RecordingWatcher(fixture) as watcher:
        for message in "abcde":
            await fixture.must_succeed(_unschedulable(pod, message))
        await watcher.until(
            lambda: _messages(watcher, pod)[-1:] == ["e"], f"the last condition of {pod} must be shown"
        )
        expect(_messages(watcher, pod) == sorted(_messages(watcher, pod)), "changes must be shown in order")
        watcher.check_order(pod)


async def reports_deletions(fixture: ClusterFixture) -> None:
    first = await fixture.pod("pod")
    async with RecordingWatcher(fixture) as watcher:
        await fixture.remove(first)
        second = await fixture.pod("pod")
        await watcher.until(lambda: watcher.sees(second), f"the new {second} must be shown")
        expect(watcher.has_lost(first), f"the old {first} must be reported as Gone with its own UID")
        seen = [event_target(event) for event in watcher.about(first)]
        expect(
            seen.index(second) > 0 and seen[-1] == second,
            "the new pod must come after the old one is Gone",
        )


async def reports_deletions_after_earlier_changes(fixture: ClusterFixture) -> None:
    """The scheduler concludes from the deletion of a pod that no earlier change of pods is still to come."""
    lost, replaced = await fixture.pod("lost"), await fixture.pod("a-replaced")
    async with RecordingWatcher(fixture) as watcher:
        await fixture.admin.disconnect()
        late = await fixture.pod("late")
        await fixture.remove(replaced)
        await fixture.pod("a-replaced")
        await fixture.remove(lost)
        await watcher.until(
            lambda: watcher.has_lost(lost) and watcher.has_lost(replaced),
            f"{lost} and {replaced} must be Gone",
        )
        for gone in (lost, replaced):
            expect(watcher.shows_first(late, gone), f"{late} was created before {gone} was deleted")


async def binds_a_pod(fixture: ClusterFixture) -> None:
    node, pod = await fixture.node("node"), await fixture.pod("pod")
    async with RecordingWatcher(fixture) as watcher:
        await fixture.must_succeed(Bind(pod, node.name))
        await watcher.until(
            lambda: any(p.spec.node_name == node.name for p in watcher.pods(pod)), f"{pod} must get its node"
        )
        *_, bound = watcher.pods(pod)
        scheduled = any(c.type == "PodScheduled" and c.status == "True" for c in bound.status.conditions)
        expect(scheduled, f"{pod} was bound and must have the condition PodScheduled")


async def binds_a_pod_only_once(fixture: ClusterFixture) -> None:
    node, other, pod = await fixture.node("node"), await fixture.node("other"), await fixture.pod("pod")
    await fixture.must_succeed(Bind(pod, node.name))
    await fixture.must_be_refused(Bind(pod, other.name))
    await fixture.must_succeed(Bind(pod, node.name))
    stored = await fixture.admin.read("Pod", pod.namespace, pod.name)
    expect(stored is not None and stored["spec"]["nodeName"] == node.name, f"{pod} must stay on its node")


async def binds_only_the_pod_with_that_uid(fixture: ClusterFixture) -> None:
    node, pod = await fixture.node("node"), await fixture.pod("pod")
    stranger = Target(pod.kind, pod.namespace, pod.name, "00000000-0000-0000-0000-000000000000")
    await fixture.must_be_refused(Bind(stranger, node.name))
    stored = await fixture.admin.read("Pod", pod.namespace, pod.name)
    expect(
        stored is not None and not stored["spec"].get("nodeName"),
        f"{pod} has another UID",
    )


async def rejects_effects_on_deleted_pods(fixture: ClusterFixture) -> None:
    node, pod = await fixture.node("node"), await fixture.pod("pod")
    await fixture.remove(pod)
    namesake = await fixture.pod("pod")
    for effect in (Bind(pod, node.name), _unschedulable(pod, "gone"), Nominate(pod, node.name)):
        await fixture.must_be_missing(effect)
    await fixture.remove(namesake)
    await fixture.must_be_missing(_unschedulable(pod, "gone"))
    await fixture.must_succeed(Evict(pod))


async def evicts_a_running_pod(fixture: ClusterFixture) -> None:
    """The pod terminates first, and is gone when its kubelet or an administrator says so. Twice is once."""
    node, pod = await fixture.node("node"), await fixture.pod("pod")
    await fixture.must_succeed(Bind(pod, node.name))
    async with RecordingWatcher(fixture) as watcher:
        await fixture.must_succeed(Evict(pod))
        await watcher.until(
            lambda: any(p.metadata.deletion_timestamp is not None for p in watcher.pods(pod)),
            f"{pod} was evicted and must be terminating",
        )
        await fixture.must_succeed(Evict(pod))
        stored = await fixture.admin.read("Pod", pod.namespace, pod.name)
        expect(stored is not None, f"{pod} must be terminating until its grace period is over")
        await fixture.remove(pod)
        await watcher.until(lambda: watcher.has_lost(pod), f"{pod} must be gone")


async def evicts_only_the_pod_with_that_uid(fixture: ClusterFixture) -> None:
    """The eviction of a pod that is gone succeeds, and a namesake is untouched."""
    pod = await fixture.pod("pod")
    await fixture.remove(pod)
    namesake = await fixture.pod("pod")
    await fixture.must_succeed(Evict(pod))
    stored = await fixture.admin.read("Pod", namesake.namespace, namesake.name)
    untouched = stored is not None and stored["metadata"]["uid"] == namesake.uid
    expect(untouched, f"{namesake} has the name of an evicted pod, and must stay")
    expect(
        stored is not None and "deletionTimestamp" not in stored["metadata"],
        f"{namesake} must not be terminating",
    )


async def _is_seen(watcher: RecordingWatcher, pod: Target) -> None:
    """The scheduler writes only to what it has seen; after a standby replica's list, an event may follow."""
    await watcher.until(lambda: watcher.sees(pod), f"{pod} must be seen")


async def writes_conditions(fixture: ClusterFixture) -> None:
    pod = await fixture.pod("pod")
    async with RecordingWatcher(fixture) as watcher:
        await _is_seen(watcher, pod)
        for message in ("too full", "too full", "still too full"):
            await fixture.must_succeed(_unschedulable(pod, message))
        await watcher.until(
            lambda: _messages(watcher, pod)[-1:] == ["still too full"],
            f"{pod} must get its condition",
        )
        *_, last = watcher.pods(pod)
        found = [c for c in last.status.conditions if c.type == "PodScheduled"]
        expect(len(found) == 1, f"{pod} must have one condition of a type, and has {len(found)}")
        expect(
            (found[0].status, found[0].reason) == ("False", "Unschedulable"), f"wrong condition {found[0]}"
        )
        generation = last.metadata.generation
        expect(
            found[0].observed_generation == generation,
            f"{found[0]} must be of generation {generation}",
        )


async def sets_last_transition_time(fixture: ClusterFixture) -> None:
    pod = await fixture.pod("pod")
    async with RecordingWatcher(fixture) as watcher:
        await _is_seen(watcher, pod)
        times = [
            await _time_written(fixture, watcher, SetCondition(pod, "Contract", status, "Checked", message))
            for status, message in (("False", "a"), ("False", "b"), ("True", "c"))
        ]
    expect(
        times[0] == times[1],
        f"without a change of status, the time must stay: {times}",
    )
    expect(
        times[1] != times[2],
        f"with a change of status, the time must change: {times}",
    )


async def _time_written(
    fixture: ClusterFixture, watcher: RecordingWatcher, effect: SetCondition
) -> datetime | None:
    """lastTransitionTime after the write; then it waits, since timestamps are whole seconds."""

    def written() -> list[Condition]:
        *_, last = watcher.pods(effect.target)
        return [c for c in last.status.conditions if c.message == effect.message]

    await fixture.must_succeed(effect)
    await watcher.until(written, f"the condition {effect.type} of {effect.target} must be shown")
    await asyncio.sleep(1.1)
    return written()[0].last_transition_time


async def writes_a_status_in_one_request(fixture: ClusterFixture) -> None:
    node, pod = await fixture.node("node"), await fixture.pod("pod")
    async with RecordingWatcher(fixture) as watcher:
        parts = (Nominate(pod, node.name), _unschedulable(pod, "full"))
        await fixture.must_succeed(WriteStatus(pod, parts))
        await watcher.until(lambda: _messages(watcher, pod) == ["full"], f"the status of {pod} must be shown")
        *_, last = watcher.pods(pod)
        expect(last.status.nominated_node_name == node.name, f"{pod} must be nominated in the same write")
        await fixture.must_succeed(WriteStatus(pod, (Nominate(pod, ""), _unschedulable(pod, "fuller"))))
        await watcher.until(lambda: _messages(watcher, pod)[-1:] == ["fuller"], f"{pod} must change")
        *_, last = watcher.pods(pod)
        expect(not last.status.nominated_node_name, f"the nomination of {pod} must be cleared")


async def stores_events(fixture: ClusterFixture) -> None:
    pod = await fixture.pod("pod")
    await fixture.must_succeed(Announce(pod, Tone.WARNING, "FailedScheduling", "Scheduling", "no room"))
    events = await fixture.admin.list("Event", fixture.namespace)
    stored = [
        (e["type"], e["reason"], e["action"], e["message"])
        for e in events
        if e["involvedObject"].get("uid") == pod.uid
    ]
    expected = ("Warning", "FailedScheduling", "Scheduling", "no room")
    expect(expected in stored, f"an event on {pod} must be stored; there are {stored}")


async def reserves_volumes(fixture: ClusterFixture) -> None:
    volume, claim, other = (
        await fixture.volume("v"),
        await fixture.claim("claim"),
        await fixture.claim("other"),
    )
    await fixture.must_succeed(BindVolume(volume, claim))
    await fixture.must_succeed(BindVolume(volume, claim))
    await fixture.must_be_refused(BindVolume(volume, other))
    stored = await fixture.admin.read("PersistentVolume", "", volume.name)
    reserved = (stored or {}).get("spec", {}).get("claimRef", {})
    expect(reserved.get("uid") == claim.uid, f"{volume} must be reserved for {claim}: {reserved}")


async def selects_nodes_for_claims(fixture: ClusterFixture) -> None:
    node, claim = await fixture.node("node"), await fixture.claim("claim")
    await fixture.must_succeed(SelectNode(claim, node.name))
    await fixture.must_succeed(SelectNode(claim, node.name))
    stored = await fixture.admin.read("PersistentVolumeClaim", claim.namespace, claim.name)
    chosen = (stored or {})["metadata"].get("annotations", {}).get("volume.kubernetes.io/selected-node")
    expect(chosen == node.name, f"{claim} must have the selected node {node.name}, and has {chosen}")


async def resumes_after_a_broken_connection(fixture: ClusterFixture) -> None:
    kept, lost = await fixture.pod("kept"), await fixture.pod("lost")
    async with RecordingWatcher(fixture) as watcher:
        await fixture.must_succeed(_unschedulable(kept, "a"))
        await fixture.admin.disconnect()
        await fixture.must_succeed(_unschedulable(kept, "b"))
        await fixture.remove(lost)
        new = await fixture.pod("new")
        await fixture.must_succeed(_unschedulable(kept, "c"))
        await watcher.until(lambda: watcher.sees(new), f"{new} must be shown after the connection broke")
        await watcher.until(lambda: watcher.has_lost(lost), f"{lost} was deleted and must be Gone")
        await watcher.until(
            lambda: _messages(watcher, kept)[-1:] == ["c"], f"{kept} must be shown as it is now"
        )
        expect(_messages(watcher, kept) == sorted(_messages(watcher, kept)), "changes must be shown in order")
        watcher.check_order(kept)


async def shows_every_watcher_the_same(fixture: ClusterFixture) -> None:
    async with RecordingWatcher(fixture) as one:
        pods = [await fixture.pod(f"pod-{i}") for i in range(5)]
        async with RecordingWatcher(fixture) as other:
            await fixture.admin.disconnect()
            await fixture.remove(pods[2])
            await fixture.must_succeed(_unschedulable(pods[3], "a"))
            last = await fixture.pod("last")
            expected = {pod.name for pod in (*pods, last)} - {pods[2].name}
            for watcher in (one, other):
                await _sees_the_end(watcher, pods[3], expected)
            same = one.picture(fixture.namespace) == other.picture(fixture.namespace)
            expect(same, "two watchers must end with the same picture")


async def _sees_the_end(watcher: RecordingWatcher, changed: Target, names: set[str]) -> None:
    def ended() -> bool:
        pods = {name for kind, name in watcher.picture(changed.namespace) if kind == "Pod"}
        return pods == names and _messages(watcher, changed)[-1:] == ["a"]

    await watcher.until(ended, f"every watcher must see {sorted(names)} in the end")
    watcher.check_order(changed)


def _unschedulable(pod: Target, message: str) -> SetCondition:
    return SetCondition(pod, "PodScheduled", "False", "Unschedulable", message)


def _messages(watcher: RecordingWatcher, pod: Target) -> list[str]:
    """The messages of a pod's condition in order, without repetitions."""
    found = [c.message for p in watcher.pods(pod) for c in p.status.conditions if c.type == "PodScheduled"]
    return [message for i, message in enumerate(found) if i == 0 or found[i - 1] != message]


Check = Callable[[ClusterFixture], Coroutine[Any, Any, None]]
Maker = Callable[[], AbstractAsyncContextManager[ClusterFixture]]

CHECKS: tuple[Check, ...] = (
    lists_then_watches,
    delivers_changes_in_order,
    reports_deletions,
    reports_deletions_after_earlier_changes,
    binds_a_pod,
    binds_a_pod_only_once,
    binds_only_the_pod_with_that_uid,
    rejects_effects_on_deleted_pods,
    evicts_a_running_pod,
    evicts_only_the_pod_with_that_uid,
    writes_conditions,
    sets_last_transition_time,
    writes_a_status_in_one_request,
    stores_events,
    reserves_volumes,
    selects_nodes_for_claims,
    resumes_after_a_broken_connection,
    shows_every_watcher_the_same,
)


async def check_contract(make: Maker) -> None:
    """Every check, each on a fixture of its own; raises at the first that fails."""
    for check in CHECKS:
        async with make() as fixture:
            await check(fixture)
