"""A cluster that changes at random, step by step: the objects as they are, and the mirror that was told.

What the mirror should show is what a snapshot built from the objects shows.
"""

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field

import msgspec

from reprieve.model.effects import BindVolume, SelectNode, Target
from reprieve.model.events import Change
from reprieve.model.json import Json
from reprieve.model.snapshot import Snapshot, build
from reprieve.scheduler.ledger.assumed import Assumed, AssumedPods, Promise, VolumeStep
from reprieve.scheduler.ledger.budget_lag import BudgetLag
from reprieve.scheduler.mirror.world import World as Mirror
from tests.properties.random_nodes import random_node
from tests.properties.vocabulary import POD_LABELS, PRIORITIES, chance, labels_from, some
from tests.properties.worlds import FEATURES, World, decoded, has_ended, random_world

Key = tuple[str, str, str]  # kind, namespace, name

SELECTED_NODE = "volume.kubernetes.io/selected-node"
DEVICES = ("example.com/new0", "example.com/new1")
GROUPS = ("group0", "group1", "no-such-group")


def key_of(thing: Json) -> Key:
    meta = thing["metadata"]
    return thing["kind"], meta.get("namespace", ""), meta["name"]


def target_of(thing: Json) -> Target:
    return Target(*key_of(thing), thing["metadata"].get("uid", ""))


@dataclass(slots=True)
class Mirrored:
    mirror: Mirror = field(init=False)
    promises: AssumedPods = field(default_factory=AssumedPods)  # what the mirror reads beside what is shown
    objects: dict[Key, Json] = field(default_factory=dict)
    unseen: list[Json] = field(default_factory=list)
    past: list[Json] = field(default_factory=list)  # versions that others have replaced
    assumed: dict[tuple[str, str], str] = field(default_factory=dict)
    steps: dict[Target, VolumeStep] = field(default_factory=dict)
    changes: set[Change] = field(default_factory=set)  # what the mirror said has happened
    fickle: bool = True  # pods ask for other things than before, which Kubernetes does not allow
    version: int = 0

    def __post_init__(self) -> None:
        self.mirror = Mirror(self.promises, BudgetLag())

    def go_through(self, seeds: list[int]) -> None:
        for seed in seeds:
            rng = random.Random(seed)
            rng.choice(STEPS)(self, rng)

    # --- telling the mirror ---

    def show(self, thing: Json) -> None:
        self.version += 1
        thing["metadata"]["resourceVersion"] = str(self.version)
        if (before := self.objects.get(key_of(thing))) is not None:
            self.past.append(before)
        self.objects[key_of(thing)] = thing
        self.changes |= self.mirror.see(decoded(thing))
        if before is not None and before["kind"] == "Pod" and not self._may_stay_assumed(before, thing):
            self._settle(before)

    def _settle(self, pod: Json) -> None:
        self.assumed.pop(key_of(pod)[1:], None)
        self.promises.settle(target_of(pod))

    def _may_stay_assumed(self, before: Json, pod: Json) -> bool:
        same = before["metadata"]["uid"] == pod["metadata"]["uid"]
        return same and not has_ended(pod) and not pod["spec"].get("nodeName")

    def lose(self, thing: Json) -> None:
        del self.objects[key_of(thing)]
        self.changes |= self.mirror.lose(target_of(thing))
        self._settle(thing)

    def assume(self, pod: Json, node: str) -> None:
        self.assumed[key_of(pod)[1:]] = node
        self.promises.promise(Assumed(target_of(pod), node, Promise.SENT))
        self.changes |= self.mirror.count_anew(key_of(pod)[1:])

    def withdraw(self, pod: tuple[str, str]) -> None:
        self._settle(self.objects["Pod", *pod])
        self.changes |= self.mirror.count_anew(pod)

    def reserve(self, step: VolumeStep) -> None:
        """A promise at random may help another pod, which one that was decided never does."""
        self.changes.add(Change.STORAGE)
        self.steps[step.target] = step
        self.promises.promise(Assumed(_user(step), "", Promise.PREPARING, steps=(step,)))
        self.mirror.volume_steps_changed()

    def release(self, step: VolumeStep) -> None:
        del self.steps[step.target]
        self.promises.settle(_user(step))
        self.changes |= self.mirror.volume_steps_changed()

    # --- what there is ---

    def of_kind(self, *kinds: str) -> list[Json]:
        return [thing for thing in self.objects.values() if thing["kind"] in kinds]

    def node_names(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.of_kind("Node")]

    def running(self) -> list[Json]:
        return [pod for pod in self.of_kind("Pod") if not has_ended(pod)]

    def waiting(self) -> list[Json]:
        return [pod for pod in self.running() if not pod["spec"].get("nodeName")]

    def members(self, namespace: str, group: str) -> list[tuple[str, str]]:
        pods = [
            pod for pod in self.running() if pod["spec"].get("schedulingGroup") == {"podGroupName": group}
        ]
        return sorted(key_of(pod)[1:] for pod in pods if pod["metadata"]["namespace"] == namespace)

    def built(self) -> Snapshot:
        return build(decoded(self._as_promised(thing)) for thing in self.objects.values()).snapshot

    def _as_promised(self, thing: Json) -> Json:
        """With all promises kept."""
        thing, step = deepcopy(thing), self.steps.get(target_of(thing))
        if thing["kind"] == "Pod" and (node := self.assumed.get(key_of(thing)[1:])):
            thing["spec"]["nodeName"] = node
        match step:
            case BindVolume(_, claim):
                ref = {"namespace": claim.namespace, "name": claim.name, "uid": claim.uid}
                thing["spec"]["claimRef"] = ref
            case SelectNode(_, node):
                thing["metadata"].setdefault("annotations", {})[SELECTED_NODE] = node
        return thing


def _user(step: VolumeStep) -> Target:
    """A pod beside those that are shown, for which this is done: one for each object that steps change."""
    return msgspec.structs.replace(step.target, kind=f"user of a {step.target.kind}")


def mirrored(seed: int, features: frozenset[str] = FEATURES) -> Mirrored:
    """A mirror of a random world, to which things of another may come."""
    rng = random.Random(seed)
    result = Mirrored()
    for thing in _things(random_world(rng, features)):
        result.show(thing)
    strangers = _things(random_world(rng, features))
    result.unseen = [thing for thing in strangers if key_of(thing) not in result.objects]
    return result


def _things(world: World) -> list[Json]:
    return [*world.objects, world.newcomer]


# --- steps: things come, change and go -----------------------------------------------------------


def _come(now: Mirrored, rng: random.Random) -> None:
    for _ in range(min(rng.randint(1, 4), len(now.unseen))):
        now.show(now.unseen.pop(rng.randrange(len(now.unseen))))


def _go(now: Mirrored, rng: random.Random) -> None:
    for thing in some(rng, list(now.objects.values()), at_most=3):
        now.lose(thing)
        if chance(rng, 0.7):
            now.unseen.append(thing)


def _a_node_goes(now: Mirrored, rng: random.Random) -> None:
    for node in some(rng, now.of_kind("Node"), at_most=1):
        now.lose(node)
        now.unseen.append(node)


def _a_node_is_replaced(now: Mirrored, rng: random.Random) -> None:
    """There are as many nodes as before, but not the same."""
    nodes, others = now.of_kind("Node"), [t for t in now.unseen if t["kind"] == "Node"]
    if nodes and others:
        now.lose(rng.choice(nodes))
        now.unseen.remove(others[0])
        now.show(others[0])


def _a_namesake_goes(now: Mirrored, rng: random.Random) -> None:
    """Not the one that is known."""
    for thing in some(rng, now.of_kind("Pod", "Node", "PersistentVolume"), at_most=3):
        now.mirror.lose(Target(*key_of(thing), "of another"))


def _a_namesake_comes(now: Mirrored, rng: random.Random) -> None:
    """It takes the place of the one that is known, without a word of that one's end."""
    for thing in some(rng, now.of_kind("Pod", "Node", "PersistentVolumeClaim"), at_most=2):
        new = deepcopy(thing)
        new["metadata"]["uid"] += "'"
        if chance(rng, 0.5):
            _take_after(new, rng.choice(now.of_kind(new["kind"])))
        now.show(new)


def _back_in_time(now: Mirrored, rng: random.Random) -> None:
    """Older versions are not believed. What has ended is forgotten, though, and its past would be news."""
    forgotten = {key_of(pod) for pod in now.of_kind("Pod") if has_ended(pod)}
    known = now.objects.keys() - forgotten
    for thing in some(rng, [thing for thing in now.past if key_of(thing) in known], at_most=3):
        now.mirror.see(decoded(thing))


def _other_things_change(now: Mirrored, rng: random.Random) -> None:
    things = [thing for thing in now.objects.values() if thing["kind"] not in ("Pod", "Node")]
    for thing in some(rng, things, at_most=3):
        new = deepcopy(thing)
        _take_after(new, rng.choice(now.of_kind(thing["kind"])))
        now.show(new)


def _take_after(thing: Json, other: Json) -> None:
    """The same object with the contents of another."""
    meta = thing["metadata"]
    thing.update(deepcopy({**other, "metadata": {**other["metadata"], **_identity(meta)}}))


def _identity(meta: Json) -> Json:
    return {name: meta[name] for name in ("name", "namespace", "uid") if name in meta}


# --- steps: pods ---------------------------------------------------------------------------------


def _pods_change(now: Mirrored, rng: random.Random) -> None:
    for pod in some(rng, now.of_kind("Pod"), at_most=3):
        new = deepcopy(pod)
        possible = [change for change in POD_CHANGES if now.fickle or change is not _ask_differently]
        for change in some(rng, possible, at_least=1, at_most=2):
            change(now, rng, new)
        now.show(new)


def _relabel(now: Mirrored, rng: random.Random, pod: Json) -> None:
    pod["metadata"]["labels"] = labels_from(rng, POD_LABELS, 0.8)


def _reprioritize(now: Mirrored, rng: random.Random, pod: Json) -> None:
    pod["spec"]["priority"] = rng.choice(list(PRIORITIES.values()))


def _regroup(now: Mirrored, rng: random.Random, pod: Json) -> None:
    pod["spec"]["schedulingGroup"] = {"podGroupName": rng.choice(GROUPS)}


def _start(now: Mirrored, rng: random.Random, pod: Json) -> None:
    pod["status"]["startTime"] = f"2026-01-01T{rng.randrange(24):02}:00:00Z"


def _get_scheduled(now: Mirrored, rng: random.Random, pod: Json) -> None:
    since = f"2026-01-01T{rng.randrange(24):02}:00:00Z"
    condition = {"type": "PodScheduled", "status": rng.choice(("True", "True", "False"))}
    pod["status"]["conditions"] = [condition | {"lastTransitionTime": since}]


def _leave(now: Mirrored, rng: random.Random, pod: Json) -> None:
    pod["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"


def _end(now: Mirrored, rng: random.Random, pod: Json) -> None:
    pod["status"]["phase"] = rng.choice(("Succeeded", "Failed"))


def _get_bound(now: Mirrored, rng: random.Random, pod: Json) -> None:
    pod["spec"].setdefault("nodeName", rng.choice([*now.node_names(), "n0", "n-gone"]))


def _weigh_more(now: Mirrored, rng: random.Random, pod: Json) -> None:
    requests = {"cpu": rng.choice(("100m", "1")), rng.choice(DEVICES): "1"}
    pod["spec"]["containers"][0].setdefault("resources", {})["requests"] = requests


def _ask_differently(now: Mirrored, rng: random.Random, pod: Json) -> None:
    kept = {name: pod["spec"][name] for name in ("nodeName",) if name in pod["spec"]}
    pod["spec"] = deepcopy(rng.choice(now.of_kind("Pod"))["spec"])
    pod["spec"].pop("nodeName", None)
    pod["spec"].update(kept)


def _report(now: Mirrored, rng: random.Random, pod: Json) -> None:
    """Status fields of the kubelet that the scheduler does not read."""
    pod["status"]["conditions"] = [{"type": "Initialized", "status": rng.choice(("True", "False"))}]


PodChange = Callable[[Mirrored, random.Random, Json], None]
POD_CHANGES: tuple[PodChange, ...] = (
    _relabel,
    _reprioritize,
    _regroup,
    _start,
    _get_scheduled,
    _leave,
    _end,
    _get_bound,
    _get_bound,
    _weigh_more,
    _ask_differently,
    _report,
)


def _assume(now: Mirrored, rng: random.Random) -> None:
    for pod in some(rng, now.waiting(), at_most=3):
        if names := now.node_names():
            now.assume(pod, rng.choice(names))


def _withdraw(now: Mirrored, rng: random.Random) -> None:
    for pod in some(rng, list(now.assumed), at_most=2):
        now.withdraw(pod)


# --- steps: nodes and volumes --------------------------------------------------------------------


def _nodes_change(now: Mirrored, rng: random.Random) -> None:
    for node in some(rng, now.of_kind("Node"), at_most=2, at_least=1):
        new, source = deepcopy(node), random_node(rng, node["metadata"]["name"], FEATURES)
        for part, name in some(rng, list(_parts_of_a_node()), at_most=2):
            new[part].pop(name, None)
            if name in source[part]:
                new[part][name] = source[part][name]
        if chance(rng, 0.2):
            new["status"]["allocatable"][rng.choice(DEVICES)] = "2"
        now.show(new)


def _parts_of_a_node() -> Iterator[tuple[str, str]]:
    yield "metadata", "labels"
    yield from (("spec", name) for name in ("taints", "unschedulable"))
    yield from (("status", name) for name in ("allocatable", "images", "declaredFeatures"))


def _volumes_are_promised(now: Mirrored, rng: random.Random) -> None:
    claims, names = now.of_kind("PersistentVolumeClaim"), now.node_names()
    for volume in some(rng, now.of_kind("PersistentVolume"), at_most=1):
        if claims:
            now.reserve(BindVolume(target_of(volume), target_of(rng.choice(claims))))
    for claim in some(rng, claims, at_most=2):
        if names:
            now.reserve(SelectNode(target_of(claim), rng.choice(names)))


def _promises_are_released(now: Mirrored, rng: random.Random) -> None:
    for step in some(rng, list(now.steps.values())):
        now.release(step)


STEPS: tuple[Callable[[Mirrored, random.Random], None], ...] = (
    _come,
    _come,
    _go,
    _a_node_goes,
    _a_node_is_replaced,
    _a_namesake_goes,
    _a_namesake_comes,
    _back_in_time,
    _other_things_change,
    _pods_change,
    _pods_change,
    _assume,
    _assume,
    _withdraw,
    _nodes_change,
    _nodes_change,
    _volumes_are_promised,
    _promises_are_released,
)
