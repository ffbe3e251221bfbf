"""Whether trees of groups run as one or not at all, by a plain count of what the API server holds."""

from collections.abc import Collection, Iterator, Mapping

from reprieve.cluster.api.codec import Decoded, decode
from reprieve.model.groups import Group, GroupKey, Groups, group_key, groups_table, key_of
from reprieve.model.objects import CompositePodGroup, Pod, PodGroup, runs
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.store import EventType, Store
from tests.simulation.invariants import hold, pods_in

KINDS = (BY_NAME["PodGroup"].resource, BY_NAME["CompositePodGroup"].resource)


Running = Mapping[GroupKey, Collection[object]]  # the pods of each PodGroup that have their node


class WholeTrees:
    """Kept over restarts of the scheduler."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watch = store.watch(("pods", *KINDS), since=store.version)
        # The names of groups of which a pod has ended, or that were deleted themselves.
        self._disturbed: set[str] = set()

    def look(self) -> None:
        for change in self._watch.poll():
            found = decode(change.object.raw)
            thing = found.object if isinstance(found, Decoded) else None
            if isinstance(thing, Pod):
                self._look_at(thing, is_gone=change.type is EventType.DELETED)
            elif change.type is EventType.DELETED:
                # It may not come back: then the group around it has lost a child.
                around = [thing.spec.parent] if isinstance(thing, PodGroup | CompositePodGroup) else []
                self._disturbed.update((change.object.key.name, *around))

    def _look_at(self, pod: Pod, *, is_gone: bool) -> None:
        """A pod that is deleted may be one that is being bound, beside others of its tree."""
        group = group_key(pod)
        ends = is_gone or not runs(pod) or pod.metadata.deletion_timestamp is not None
        if group is not None and ends:
            self._disturbed.add(group[1])

    def check_rest(self, foreign: str) -> None:
        """Every group of which a pod runs has what it needs, unless something else than the scheduler ended
        or started pods of its tree: another scheduler's node is ``foreign``."""
        self.look()
        groups, running = self._groups(), self._running()
        for root in [one for one in groups.composites.values() if not one.spec.parent]:
            inside = [*_inside(groups, root)]
            pods = [pod for group in inside for pod in running.get(key_of(group), ())]
            if any(key_of(group)[1] in self._disturbed for group in inside):
                continue
            if any(pod.spec.node_name == foreign for pod in pods):
                continue
            for group in inside:
                torn = _has_pods(groups, group, running) and not is_met(groups, group, running)
                hold(not torn, f"{key_of(group)[1]} of tree {root.metadata.name} runs in part")

    def _groups(self) -> Groups:
        found = (decode(item.raw) for item in self._store.list(KINDS).items)
        return groups_table(one.object for one in found if isinstance(one, Decoded))

    def _running(self) -> dict[GroupKey, list[Pod]]:
        found: dict[GroupKey, list[Pod]] = {}
        for pod in pods_in(self._store):
            group = group_key(pod)
            if group is not None and pod.spec.node_name and runs(pod):
                found.setdefault(group, []).append(pod)
        return found


def is_met(groups: Groups, group: Group, running: Running) -> bool:
    least = group.spec.gang.min_count if group.spec.gang is not None else 1
    if isinstance(group, PodGroup):
        return len(running.get(key_of(group), ())) >= least
    return sum(is_met(groups, child, running) for child in groups.children(key_of(group))) >= least


def _has_pods(groups: Groups, group: Group, running: Running) -> bool:
    return any(running.get(key_of(one)) for one in _inside(groups, group))


def _inside(groups: Groups, group: Group) -> Iterator[Group]:
    yield group
    for child in groups.children(key_of(group)) if not isinstance(group, PodGroup) else ():
        yield from _inside(groups, child)
