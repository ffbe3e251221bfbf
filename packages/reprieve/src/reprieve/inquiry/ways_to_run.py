"""What would let a pod or a group run that waits, in order of effort? Each way is tried in a what-if.

First those that need only time, then those that its owner can take, then those that need others: room that is
freed, a higher priority, other constraints, another node.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

import msgspec

from reprieve.inquiry.object_names import ObjectName
from reprieve.inquiry.trials import Trials, leaving_pods
from reprieve.inquiry.whatif import WhatIfOutcome, WhatIfReport
from reprieve.inquiry.why import Remedy
from reprieve.inquiry.world_changes import AddNodes, Remove
from reprieve.model.footprint import footprint
from reprieve.model.formatting import amount, clock_time, counted, listed
from reprieve.model.objects import Affinity, Container, Node, Pod, PriorityClass, Toleration, ref_of, runs
from reprieve.model.resources import Problems, milli, node_capacity, rounded
from reprieve.placement.rejection_codes import Code
from reprieve.scheduler.reporting.decision import Decision, Eviction, Miss, Outcome
from reprieve.scheduler.targets import pod_target

_MOST_REMOVED = 10  # pods for which it is tried whether it fits without them
_MOST_TAINTS = 3
NO_WAYS = ("NoPriority", "TooLarge")  # that there is no way of this kind
_AFFINITY = (Code.POD_AFFINITY, Code.POD_ANTI_AFFINITY)
_SPREAD = (Code.SPREAD_SKEW, Code.SPREAD_LABEL_MISSING)


def ways_to_run(trials: Trials, report: WhatIfReport) -> tuple[Remedy, ...]:
    """``report``: of a what-if on the cluster as it is."""
    match report.outcome:
        case WhatIfOutcome.FITS:
            return tuple(_when_it_fits(trials, report))
        case WhatIfOutcome.PREEMPTS:
            return (_wait_for_preemption(trials, report),)
        case WhatIfOutcome.UNSCHEDULABLE:
            return tuple(_when_it_does_not(trials, report))
        case WhatIfOutcome.UNKNOWN:
            return ()


# --- time ----------------------------------------------------------------------------------------


def _when_it_fits(trials: Trials, report: WhatIfReport) -> Iterator[Remedy]:
    if leaving_pods(report):
        yield from _by_termination(trials, {node for _, node in report.placements})
        return
    if trials.is_resize:
        text = "Wait: the kubelet has room for it, and retries deferred resizes by itself."
        yield Remedy("WaitForKubelet", text)
        return
    names = sorted({pod.spec.scheduler_name for pod in trials.waiting})
    text = "Wait: the scheduler tries again by itself, at the latest after 5 minutes."
    how = f"if it still waits then: does a scheduler run for schedulerName {listed(names)}?"
    yield Remedy("WaitForScheduler", text, how)


def _by_termination(trials: Trials, nodes: set[str]) -> Iterator[Remedy]:
    """The API server sets deletionTimestamp to the end of the grace period."""
    leaving = [
        (end.timestamp(), f"{pod.metadata.namespace}/{pod.metadata.name}")
        for pod in _running_on(trials, nodes)
        if (end := pod.metadata.deletion_timestamp) is not None
    ]
    last, where = max((end for end, _ in leaving), default=0.0), listed(sorted(nodes))
    if last > trials.evidence.now:
        when = clock_time(last, trials.evidence.now)
        text = f"Wait until {when}: then the grace periods of the terminating pods on {where} are over."
        yield Remedy("WaitForTermination", text)
    elif leaving:
        names = listed(sorted(name for _, name in leaving))
        text = f"Find out why pods on {where} still terminate after their grace periods: {names}."
        yield Remedy(
            "StuckTermination", text, "look for finalizers, and whether the kubelet of the node answers"
        )


def _wait_for_preemption(trials: Trials, report: WhatIfReport) -> Remedy:
    pods = counted(len(report.victims), "pod")
    if trials.is_resize:
        return Remedy(
            "WaitForPreemption", f"Wait: the scheduler preempts {pods} on its node at its next attempt."
        )
    text = f"Wait: at its next attempt the scheduler preempts {pods} and reserves the room."
    names = sorted({pod.spec.scheduler_name for pod in trials.waiting})
    how = f"if nothing happens: does a scheduler run for schedulerName {listed(names)}?"
    return Remedy("WaitForPreemption", text, how)


# --- it does not fit -----------------------------------------------------------------------------


def _when_it_does_not(trials: Trials, report: WhatIfReport) -> Iterator[Remedy]:
    refused = [d for d in report.decisions if d.outcome is Outcome.UNSCHEDULABLE]
    if not refused:
        return  # it cannot be decided: what is missing is said already, and no room helps
    yield from _by_time(trials, report)
    miss = report.miss
    if miss is not None and miss.resource:
        yield from _by_asking_for_less(trials, miss)
        yield from _by_freeing(trials, miss)
    if not trials.is_resize:
        yield from _by_priority(trials)
        yield from _by_constraints(trials, refused[-1])
        yield from _by_a_node(trials, miss)


def _by_time(trials: Trials, report: WhatIfReport) -> Iterator[Remedy]:
    if report.retry_at is None:
        return
    when = clock_time(report.retry_at, trials.evidence.now)
    then = trials.at(report.retry_at)
    eviction = next((d.eviction for d in report.decisions if d.eviction is not None), None)
    code, what = _awaited(eviction, report.retry_at)
    if _works(then):
        yield Remedy(code, f"Wait until {when}, when {what} ends{_then(then)}.")
    else:
        yield Remedy(code, f"Wait until {when}, when {what} ends; that may help.")


def _awaited(eviction: Eviction | None, moment: float) -> tuple[str, str]:
    """What ends at this moment, of what protects the pods that could make room."""
    for one in eviction.protected if eviction is not None else ():
        if one.first is not None and one.first <= moment:
            return f"WaitFor{one.code}", one.ends
    return "WaitForProtection", "what protects other pods"


def _by_asking_for_less(trials: Trials, miss: Miss) -> Iterator[Remedy]:
    """Tried for pods with one container; of a gang, all pods would ask for less."""
    if trials.is_resize or {len(pod.spec.containers) for pod in trials.waiting} != {1}:
        return
    for less in _smaller_requests(trials, miss):
        found = trials.with_pods(partial(_asking_for, resource=miss.resource, number=less))
        if _works(found):
            text = f"{amount(miss.resource, less)} {miss.resource}"
            each = "" if len(trials.waiting) == 1 else " for each pod"
            how = f"lower resources.requests to {text} in the pod's template"
            yield Remedy("RequestLess", f"Request at most {text}{each}{_then(found)}.", how)
            return


def _smaller_requests(trials: Trials, miss: Miss) -> Iterator[int]:
    """What is left on the nearest node; then all that it has, for which other pods would be preempted."""
    (container,) = trials.waiting[0].spec.containers
    asks = milli((container.resources.requests or {}).get(miss.resource, "0")) or 0
    needed = rounded(miss.resource, asks)
    things = (one.object for one in trials.evidence.cluster.seen)
    nodes = (node for node in things if isinstance(node, Node) and node.metadata.name == miss.node)
    whole = max(
        (node_capacity(node, Problems(ref_of(node))).get(miss.resource, 0) for node in nodes), default=0
    )
    yield from (number for number in (needed - miss.short, whole) if 0 < number < needed)


def _asking_for(pod: Pod, resource: str, number: int) -> Pod:
    (container,) = pod.spec.containers
    requests = {**(container.resources.requests or {}), resource: _quantity(resource, number)}
    resources = msgspec.structs.replace(container.resources, requests=requests)
    smaller: Container = msgspec.structs.replace(container, resources=resources)
    return _respecified(pod, containers=(smaller,))


def _quantity(resource: str, number: int) -> str:
    return f"{number}m" if resource == "cpu" else str(number)


def _by_freeing(trials: Trials, miss: Miss) -> Iterator[Remedy]:
    """Not where it would not fit even if no other pod ran."""
    many = len(trials.waiting) > 1
    if many and not _works(trials.in_empty_cluster()):
        text = "It is too large: there would be no room for it if no other pod ran."
        yield Remedy("TooLarge", text)
        return
    if not many and not _works(trials.on_node(miss.node)):
        return
    text = f"Free {amount(miss.resource, miss.short)} {miss.resource} on {miss.node}"
    pod = _removable(trials, miss) if not many else None
    if many:
        text += f" for pod {miss.pod.name}; the group may need more elsewhere"
    elif pod is not None:
        text += (
            f": without Pod {pod.metadata.namespace}/{pod.metadata.name} (priority {pod.spec.priority or 0}),"
        )
        text += " for example, there is room"
    how = f"kubectl get pods -A --field-selector spec.nodeName={miss.node}"
    yield Remedy("FreeRoom", f"{text}.", how)


def _removable(trials: Trials, miss: Miss) -> Pod | None:
    """A pod without which it fits; found on that node alone, and then tried in the whole cluster."""
    for pod in _candidates(_running_on(trials, (miss.node,)), miss)[:_MOST_REMOVED]:
        name = ObjectName(pod.metadata.namespace, pod.metadata.name, "Pod")
        if _works(trials.on_node(miss.node, (pod_target(pod),))) and _works(
            trials.with_changes(Remove(name))
        ):
            return pod
    return None


def _running_on(trials: Trials, nodes: Collection[str]) -> list[Pod]:
    return [
        pod
        for pod in trials.evidence.cluster.pods()
        if pod.spec.node_name in nodes and runs(pod) and pod not in trials.waiting
    ]


def _candidates(running: Sequence[Pod], miss: Miss) -> list[Pod]:
    """The pods that are large enough, the least important and smallest first."""
    sized = [(pod.spec.priority or 0, _uses(pod, miss.resource), pod.metadata.name, pod) for pod in running]
    enough = [one for one in sized if one[1] >= miss.short]
    return [pod for *_, pod in sorted(enough, key=lambda one: one[:3])]


def _uses(pod: Pod, resource: str) -> int:
    return footprint(pod, Problems(ref_of(pod))).charged.get(resource, 0)


# --- priority ------------------------------------------------------------------------------------


def _by_priority(trials: Trials) -> Iterator[Remedy]:
    """The lowest class that is enough. A higher priority never helps less, so the classes are bisected."""
    current = max(pod.spec.priority or 0 for pod in trials.waiting)
    classes = [
        known for known in trials.evidence.classes() if _is_higher(known, current, trials.target.namespace)
    ]
    if not classes:
        return
    highest = trials.with_class(classes[-1])
    if not _works(highest):
        name, value = classes[-1].metadata.name, classes[-1].value
        text = f"No priority class is enough: not even {name} (value {value}) makes room."
        yield Remedy("NoPriority", text)
        return
    low, high, found = 0, len(classes) - 1, highest
    while low < high:
        middle = (low + high) // 2
        tried = trials.with_class(classes[middle])
        if _works(tried):
            high, found = middle, tried
        else:
            low = middle + 1
    chosen = classes[high]
    how = f"priorityClassName: {chosen.metadata.name}; a pod's class cannot be changed: create it again"
    text = f"Use a priority class of value {chosen.value} or more ({chosen.metadata.name}){_then(found)}."
    yield Remedy("PriorityClass", text, how)


def _is_higher(known: PriorityClass, current: int, namespace: str) -> bool:
    usable = not known.metadata.name.startswith("system-") or namespace == "kube-system"
    return known.value > current and known.preemption_policy != "Never" and usable


# --- constraints ---------------------------------------------------------------------------------


def _by_constraints(trials: Trials, refused: Decision) -> Iterator[Remedy]:
    codes = {finding.reason.code for finding in refused.findings}
    if Code.NODE_UNSCHEDULABLE in codes:
        yield from _by_uncordoning(trials)
    if Code.UNTOLERATED_TAINT in codes:
        details = [f.reason.detail for f in refused.findings if f.reason.code is Code.UNTOLERATED_TAINT]
        for taint in details[:_MOST_TAINTS]:
            yield from _by_tolerating(trials, taint)
    if Code.NODE_AFFINITY in codes:
        found = trials.with_pods(_anywhere)
        if _works(found):
            selector = listed([f"{k}={v}" for k, v in sorted(trials.waiting[0].spec.node_selector.items())])
            which = f" ({selector})" if selector else ""
            yield Remedy(
                "NodeSelector",
                f"Drop or change its node selector or affinity{which}, which excludes nodes{_then(found)}.",
                "change nodeSelector or affinity in the pod's template, or label a node that it may run on",
            )
    if codes & {*_AFFINITY, *_SPREAD}:
        found = trials.with_pods(_beside_any)
        if _works(found):
            text = "Relax its pod affinity, anti-affinity or spread constraints, which exclude nodes"
            yield Remedy("PodConstraints", f"{text}{_then(found)}.", "in the pod's template")


def _by_uncordoning(trials: Trials) -> Iterator[Remedy]:
    found = trials.with_nodes(_uncordoned)
    if _works(found):
        nodes = sorted({node for _, node in found.placements} if found is not None else ())
        how = f"kubectl uncordon {' '.join(nodes)}"
        yield Remedy("Uncordon", f"Uncordon {listed(nodes)}{_then(found)}.", how)


def _by_tolerating(trials: Trials, taint: str) -> Iterator[Remedy]:
    key = taint.partition(":")[0].partition("=")[0]
    toleration = Toleration(key=key, operator="Exists")
    found = trials.with_pods(lambda pod: _respecified(pod, tolerations=(*pod.spec.tolerations, toleration)))
    if _works(found):
        how = f"if those nodes are meant for it: tolerations: [{{key: {key}, operator: Exists}}]"
        yield Remedy("Toleration", f"Tolerate the taint {taint}{_then(found)}.", how)


def _uncordoned(node: Node) -> Node:
    taints = tuple(t for t in node.spec.taints if t.key != "node.kubernetes.io/unschedulable")
    return msgspec.structs.replace(
        node, spec=msgspec.structs.replace(node.spec, unschedulable=False, taints=taints)
    )


def _anywhere(pod: Pod) -> Pod:
    affinity = msgspec.structs.replace(pod.spec.affinity, node_affinity=Affinity().node_affinity)
    return _respecified(pod, node_selector={}, affinity=affinity)


def _beside_any(pod: Pod) -> Pod:
    affinity = Affinity(node_affinity=pod.spec.affinity.node_affinity)
    return _respecified(pod, affinity=affinity, topology_spread_constraints=())


def _respecified(pod: Pod, **fields: object) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **fields))


# --- another node --------------------------------------------------------------------------------


def _by_a_node(trials: Trials, miss: Miss | None) -> Iterator[Remedy]:
    """Adds as few nodes as will do: one more never hurts, so their number is bisected."""
    template = trials.evidence.cluster.by_name.find("Node", "", miss.node) if miss is not None else None
    most = len(trials.waiting)
    if template is None or miss is None:
        return
    # An empty node of a cluster with no other: a large cluster is not played through once more for nothing.
    if most == 1 and not _works(trials.on_node(miss.node)):
        return
    matters = most > 1 or _is_tied(trials.waiting[0])
    if matters and not _works(trials.with_changes(AddNodes(template, most))):
        return
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if _works(trials.with_changes(AddNodes(template, middle))) else (middle + 1, high)
        )
    nodes = "a node" if high == 1 else counted(high, "node")
    yield Remedy("AddNode", f"Add {nodes} like {miss.node}.", "an administrator, or a cluster autoscaler")


def _is_tied(pod: Pod) -> bool:
    """Whether what runs on other nodes matters for it."""
    affinity = pod.spec.affinity
    return bool(pod.spec.topology_spread_constraints) or affinity != Affinity(
        node_affinity=affinity.node_affinity
    )


# --- words ---------------------------------------------------------------------------------------


def _works(report: WhatIfReport | None) -> bool:
    return report is not None and report.outcome is not WhatIfOutcome.UNSCHEDULABLE


def _then(report: WhatIfReport | None) -> str:
    """Says where it would run, and at the cost of which pods."""
    if report is None:
        return ""
    nodes = listed(sorted({node for _, node in report.placements}), 2)
    names = [f"{victim.pod.namespace}/{victim.pod.name}" for victim in report.victims]
    return f": then it runs on {nodes}" + (f", after preempting {listed(names, 3)}" if names else "")
