"""Which demands could preempt the running pods of a cluster, now and later, and what protects the pods?

The rules are those of ``preemption.exposure``; here they meet the priority classes that exist and the pods
that use them. Whether a demand needs the room is a what-if. This module must not know files, flags or how a
report is shown.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from reprieve.cluster.api.codec import Decoded
from reprieve.cluster.api.selector_text import SelectorRequirements, all_hold
from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.inquiry.manifests import Manifest
from reprieve.inquiry.whatif import WhatIfReport
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Node, ObjectMeta, Pod, PodGroupSpec, PodSpec
from reprieve.model.resources import STANDARD, milli
from reprieve.model.snapshot import NOWHERE, Snapshot, build
from reprieve.preemption.eligibility import Protection
from reprieve.preemption.exposure import BudgetCharge, Exposure, LeastPreemptor, exposure
from reprieve.preemption.policy import Policy

_NEVER = "Never"  # the preemptionPolicy of a class whose pods wait instead
_OUT_OF_REACH = 1 << 31  # sorts after every priority


@dataclass(frozen=True, slots=True)
class PodFilter:
    namespace: str = ""  # empty: all of them
    labels: SelectorRequirements = ()

    def shows(self, pod: Pod) -> bool:
        meta = pod.metadata
        return self.namespace in ("", meta.namespace) and all_hold(self.labels, meta.labels)


@dataclass(frozen=True, slots=True)
class ExposedPod:
    """``levels``: the lowest priority that may preempt the pod now, and after each protection that ends.

    ``preemptors``: the classes that exist and may preempt it now, the lowest first. ``open_from``: from when
    on the priority that was asked about may preempt it; None: it never may.
    """

    namespace: str
    name: str
    uid: str
    node: str
    priority: int  # of its unit, as a victim
    priority_class: str
    unit: str  # "Pod", or the group that is evicted as a whole
    unit_pods: int
    pods_stopped: int  # if it is evicted
    levels: tuple[LeastPreemptor, ...]
    preemptors: tuple[str, ...]
    protections: tuple[Protection, ...]
    budgets: tuple[BudgetCharge, ...]
    held_by_budget: bool
    open_from: float | None
    own_priority: int | None = None  # with which it was scheduled, where that is another
    named_class: str = ""  # that its group names for preemption

    @property
    def lowest(self) -> int | None:
        """The lowest priority that may preempt it now."""
        return self.levels[0].priority


@dataclass(frozen=True, slots=True)
class PreemptingClass:
    """A priority class, what uses it, and how many of the pods that are shown it may preempt.

    ``name`` is empty for pods without a class. ``exists``: whether the class itself was read, not only its
    name in pods.
    """

    name: str
    value: int
    exists: bool
    preempts: bool
    pods: int
    pending: int  # of these pods
    groups: int
    now: int
    later: int  # not now, but when protections have ended


@dataclass(frozen=True, slots=True)
class ExposureReport:
    at: float
    running: int  # pods that the filter shows and that may be preempted at all, by some priority or none
    pods: tuple[ExposedPod, ...]
    classes: tuple[PreemptingClass, ...]
    static: int = 0  # pods that are never preempted: kubelets would start them again
    terminating: int = 0  # pods that leave already
    at_priority: int | None = None
    demand: WhatIfReport | None = None  # what a pod of the shape that was asked about would do
    notes: tuple[str, ...] = ()


def running_view(seen: Iterable[Decoded[KubernetesObject]]) -> Snapshot:
    """A caller that may read no nodes can still ask about pods: then the nodes that they name are assumed."""
    things = [one.object for one in seen]
    if not any(isinstance(thing, Node) for thing in things):
        named = {thing.spec.node_name for thing in things if isinstance(thing, Pod)} - {""}
        things += [Node(metadata=ObjectMeta(name=name)) for name in sorted(named)]
    return build(things).snapshot


def exposure_report(
    view: Snapshot,
    policy: Policy | None,
    now: float,
    shown: PodFilter = PodFilter(),  # noqa: B008  frozen
    at_priority: int | None = None,
) -> ExposureReport:
    """``policy`` is None if preemption is disabled. With a priority: only pods that it may ever preempt."""
    compiled = view.pods.compiled
    found = [one for one in _exposures(view, policy, now) if shown.shows(compiled[one.pod].pod)]
    staying = [one for one in found if not view.pods.terminating[one.pod]]
    levels = [one.least_preemptors(now) for one in staying]
    classes = _classes(view, levels)
    pods = _exposed(view, staying, levels, classes, at_priority)
    listed = [pod for pod in pods if at_priority is None or pod.open_from is not None]
    static = (view.pods.compiled[row].pod for row in range(len(view.pods)) if _is_static(view, row))
    return ExposureReport(
        at=now,
        running=len(staying),
        pods=tuple(sorted(listed, key=_order)),
        classes=classes,
        static=sum(map(shown.shows, static)),
        terminating=len(found) - len(staying),
        at_priority=at_priority,
    )


def _exposures(view: Snapshot, policy: Policy | None, now: float) -> Iterator[Exposure]:
    return exposure(view, policy, now) if policy is not None else iter(())


def _is_static(view: Snapshot, row: int) -> bool:
    return bool(view.pods.static[row]) and view.where[row] != NOWHERE


def _order(pod: ExposedPod) -> tuple[int, str, str]:
    """The most exposed first."""
    return _rank(pod.levels[0]), pod.namespace, pod.name


def _rank(level: LeastPreemptor) -> int:
    return _OUT_OF_REACH if level.priority is None else level.priority


def _exposed(
    view: Snapshot,
    exposures: Iterable[Exposure],
    levels: Iterable[tuple[LeastPreemptor, ...]],
    classes: Iterable[PreemptingClass],
    at_priority: int | None,
) -> Iterator[ExposedPod]:
    able = [one for one in classes if one.preempts and one.name]
    values, names = [one.value for one in able], tuple(one.name for one in able)
    for one, steps in zip(exposures, levels, strict=True):
        pod = view.pods.compiled[one.pod].pod
        yield ExposedPod(
            namespace=pod.metadata.namespace,
            name=pod.metadata.name,
            uid=pod.metadata.uid,
            node=pod.spec.node_name,
            priority=one.priority,
            priority_class=pod.spec.priority_class_name,
            unit="Pod" if one.unit.startswith("Pod/") else one.unit,
            unit_pods=one.unit_pods,
            pods_stopped=one.pods_stopped,
            levels=steps,
            preemptors=names[bisect_left(values, _rank(steps[0])) :],
            protections=one.protections,
            budgets=one.budgets,
            held_by_budget=one.held_by_budget,
            open_from=None if at_priority is None else _open_from(steps, at_priority),
            own_priority=one.own_priority,
            named_class=one.named_class,
        )


def _open_from(levels: Iterable[LeastPreemptor], priority: int) -> float | None:
    return next((level.since for level in levels if _rank(level) <= priority), None)


# --- priority classes ----------------------------------------------------------------------------


def _classes(view: Snapshot, levels: Sequence[tuple[LeastPreemptor, ...]]) -> tuple[PreemptingClass, ...]:
    """The classes that exist, and those that only pods and groups name; the lowest value first."""
    pods = [compiled.pod.spec for compiled in view.pods.compiled]
    groups = [group.spec for group in view.groups.pod_groups.values()]
    groups += [group.spec for group in view.groups.composites.values()]
    of_pods = Counter(spec.priority_class_name for spec in pods)
    pending = Counter(spec.priority_class_name for spec in pods if not spec.node_name)
    of_groups = Counter(spec.priority_class_name for spec in groups if spec.priority_class_name)
    values = _values(view, (*pods, *groups))
    now = sorted(_rank(steps[0]) for steps in levels)
    last = sorted(_rank(steps[-1]) for steps in levels)
    found = []
    for name in sorted({*view.priority_classes, *of_pods, *of_groups}, key=lambda name: (values[name], name)):
        known = view.priority_classes.get(name)
        preempts = known is None or known.preemption_policy != _NEVER
        able_now, able_later = (bisect_right(ranks, values[name]) if preempts else 0 for ranks in (now, last))
        found.append(
            PreemptingClass(
                name=name,
                value=values[name],
                exists=known is not None,
                preempts=preempts,
                pods=of_pods[name],
                pending=pending[name],
                groups=of_groups[name],
                now=able_now,
                later=able_later - able_now,
            )
        )
    return tuple(found)


def _values(view: Snapshot, users: Iterable[PodSpec | PodGroupSpec]) -> dict[str, int]:
    """The value of each class; if it was not read, the highest priority among its users."""
    values: dict[str, int] = {}
    for spec in users:
        name, priority = spec.priority_class_name, spec.priority or 0
        values[name] = max(priority, values.get(name, priority))
    return values | {name: known.value for name, known in view.priority_classes.items()}


# --- a demand of a shape -------------------------------------------------------------------------


_NAME = "reprieve-exposure"
_SCHEDULING = "scheduling.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class PodShape:
    """Resources by name, as quantities."""

    requests: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return ", ".join(f"{name} {quantity}" for name, quantity in self.requests)


class ShapeSyntaxError(ValueError):
    """The text is no shape: one sentence."""


def parse_shape(text: str) -> PodShape:
    """``cpu=4,memory=8Gi,nvidia.com/gpu=1``."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, sign, quantity = (word.strip() for word in part.partition("="))
        if not (name and sign and quantity):
            raise ShapeSyntaxError(f"expected RESOURCE=QUANTITY, as in cpu=4,memory=8Gi, got {part!r}")
        if (milli(quantity) or 0) <= 0:
            raise ShapeSyntaxError(
                f"{name}: expected a quantity above zero, as in 4 or 8Gi, got {quantity!r}"
            )
        if name in found:
            raise ShapeSyntaxError(f"{name} is given twice")
        found[name] = quantity
    return PodShape(tuple(found.items()))


def shape_manifest(shape: PodShape) -> Manifest:
    """Requests equal limits, as extended resources need. Taints that are named after a requested resource are
    tolerated, as the admission plugin ExtendedResourceToleration does."""
    requests = dict(shape.requests)
    tolerations = [{"key": name, "operator": "Exists"} for name in requests if name not in STANDARD]
    body: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": _NAME, "namespace": _NAME},
        "spec": {
            "priorityClassName": _NAME,
            "tolerations": tolerations,
            "containers": [
                {"name": "main", "image": "shape", "resources": {"requests": requests, "limits": requests}}
            ],
        },
    }
    return Manifest(body, where="--shape")


def with_class_for_shape(cluster: DecodedCluster, priority: int) -> DecodedCluster:
    """The cluster with the namespace and the priority class that ``shape_manifest`` names."""
    objects = cluster.by_name.copy()
    objects.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAME}})
    objects.put(
        {"apiVersion": _SCHEDULING, "kind": "PriorityClass", "metadata": {"name": _NAME}, "value": priority}
    )
    return replace(cluster, by_name=objects)
