"""What would become of a pod that waits if the cluster, the pod or the time were another? A what-if each."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from reprieve.cluster.api.codec import Decoded
from reprieve.inquiry.asked_demands import WhatIfQuestion
from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.inquiry.object_names import ObjectName
from reprieve.inquiry.rehearsal import Rehearsals
from reprieve.inquiry.resizes import Resize
from reprieve.inquiry.whatif import WhatIfReport, whatif
from reprieve.inquiry.why import Evidence
from reprieve.inquiry.world_changes import WorldChange
from reprieve.model.effects import Target
from reprieve.model.groups import group_key, groups_table, kind_and_name
from reprieve.model.objects import CompositePodGroup, KubernetesObject, Node, Pod, PodGroup, PriorityClass
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.targets import pod_target


@dataclass(frozen=True, slots=True)
class Asking:
    """The settings that what-ifs are decided with. ``policy``: their name."""

    settings: Settings
    policy: str


def leaving_pods(report: WhatIfReport) -> int:
    """How many pods that terminate already it waits for, if those are enough."""
    rooms = [d.preemption for d in report.decisions if d.preemption is not None and not d.preemption.pods]
    return max((room.leaving for room in rooms), default=0)


@dataclass(slots=True)
class Trials:
    """``waiting``: the pods that need room. ``problems``: why a what-if could not be asked."""

    target: Target
    waiting: Sequence[Pod]
    evidence: Evidence
    question: WhatIfQuestion
    problems: tuple[str, ...] = ()
    _asked: set[Target] = field(default_factory=set)
    _rehearsals: Rehearsals | None = None

    @staticmethod
    def of_waiting(target: Target, waiting: Sequence[Pod], evidence: Evidence, asking: Asking) -> "Trials":
        existing = (ObjectName(target.namespace, target.name, target.kind),)
        question = WhatIfQuestion(evidence.cluster, asking.settings, asking.policy, existing=existing)
        return Trials(target, waiting, evidence, question, _asked={pod_target(pod) for pod in waiting})

    @staticmethod
    def of_resize(pod: Pod, evidence: Evidence, asking: Asking) -> "Trials":
        """The kubelet has the new requests already: the same ones are asked for again."""
        name, container = ObjectName(pod.metadata.namespace, pod.metadata.name, "Pod"), pod.spec.containers[0]
        requests = tuple((key, str(value)) for key, value in (container.resources.requests or {}).items())
        resizes = (Resize(name, requests, container.name),)
        question = WhatIfQuestion(evidence.cluster, asking.settings, asking.policy, resizes=resizes)
        return Trials(pod_target(pod), (pod,), evidence, question, _asked={pod_target(pod)})

    @property
    def is_resize(self) -> bool:
        return bool(self.question.resizes)

    def now(self) -> WhatIfReport | None:
        """What would happen as things are; None if that cannot be asked."""
        return self._answer(self.question, self.evidence.now)

    def at(self, moment: float) -> WhatIfReport | None:
        return self._answer(self.question, moment)

    def with_class(self, known: PriorityClass) -> WhatIfReport | None:
        """A group counts with its own priority, and a tree with that of the outermost: all get the class."""
        groups = self._groups_around()
        given = {
            "priority": known.value,
            "priority_class_name": known.metadata.name,
            "preemption_policy": known.preemption_policy,
        }

        def changed(thing: KubernetesObject) -> KubernetesObject:
            match thing:
                case Pod() if self._is_asked(thing):
                    return msgspec.structs.replace(thing, spec=msgspec.structs.replace(thing.spec, **given))
                case PodGroup() | CompositePodGroup() if kind_and_name(thing) in groups:
                    return msgspec.structs.replace(thing, spec=msgspec.structs.replace(thing.spec, **given))
            return thing

        return self._in_cluster(changed)

    def with_changes(self, *changes: WorldChange) -> WhatIfReport | None:
        return self._answer(replace(self.question, changes=changes), self.evidence.now)

    def with_pods(self, change: Callable[[Pod], Pod]) -> WhatIfReport | None:
        """What would happen if the pods that wait were other ones."""
        return self._in_cluster(
            lambda thing: change(thing) if isinstance(thing, Pod) and self._is_asked(thing) else thing
        )

    def with_nodes(self, change: Callable[[Node], Node]) -> WhatIfReport | None:
        return self._in_cluster(lambda thing: change(thing) if isinstance(thing, Node) else thing)

    def in_empty_cluster(self) -> WhatIfReport | None:
        """What would happen if no other pod ran."""
        return self._with_only(lambda thing: not isinstance(thing, Pod))

    def on_node(self, node: str, without: Collection[Target] | None = None) -> WhatIfReport | None:
        """What would happen if this were the only node, and these pods, or all, did not run there.

        The answer is fast where there are thousands of nodes, but blind for what runs elsewhere.
        """

        def stays(thing: KubernetesObject) -> bool:
            match thing:
                case Node():
                    return thing.metadata.name == node
                case Pod():
                    gone = without is None or pod_target(thing) in without
                    return thing.spec.node_name == node and not gone
            return True

        return self._with_only(stays)

    def _with_only(self, stays: Callable[[KubernetesObject], bool]) -> WhatIfReport | None:
        """Pods that are asked about always stay."""
        cluster = self.evidence.cluster
        seen = tuple(one for one in cluster.seen if self._is_asked(one.object) or stays(one.object))
        return self._answer(replace(self.question, cluster=replace(cluster, seen=seen)), self.evidence.now)

    def _is_asked(self, thing: KubernetesObject) -> bool:
        return isinstance(thing, Pod) and pod_target(thing) in self._asked

    def _in_cluster(self, change: Callable[[KubernetesObject], KubernetesObject]) -> WhatIfReport | None:
        """What stays as it is stays the same record: the scheduler of all trials has observed it once."""

        def changed(one: Decoded[KubernetesObject]) -> Decoded[KubernetesObject]:
            other = change(one.object)
            return one if other is one.object else Decoded(object=other, unserved=one.unserved)

        cluster: DecodedCluster = self.evidence.cluster
        other = replace(cluster, seen=tuple(map(changed, cluster.seen)))
        return self._answer(replace(self.question, cluster=other), self.evidence.now)

    def _answer(self, question: WhatIfQuestion, moment: float) -> WhatIfReport | None:
        if self._rehearsals is None:
            self._rehearsals = Rehearsals(self._unchanged())
        answer = whatif(question, moment, self._rehearsals.rehearse)
        self.problems = (*self.problems, *answer.problems)
        return answer.reports[0] if answer.reports else None

    def _groups_around(self) -> set[str]:
        """The groups that the waiting pods are in, by name."""
        groups = groups_table(one.object for one in self.evidence.cluster.seen)
        keys = {group_key(pod) for pod in self.waiting}
        return {name for key in keys for name, _ in groups.chain(key)}

    def _unchanged(self) -> list[Decoded[KubernetesObject]]:
        """What most trials leave as it is: all but pods that wait, and the pods and groups asked about."""
        groups = self._groups_around()

        def stays(thing: KubernetesObject) -> bool:
            match thing:
                case Pod():
                    return bool(thing.spec.node_name) and pod_target(thing) not in self._asked
                case PodGroup() | CompositePodGroup():
                    return kind_and_name(thing) not in groups
            return True

        return [one for one in self.evidence.cluster.seen if stays(one.object)]
