"""Which of its pods does a changed object replace, and what would each of its controllers make new ones of?

From the object as it runs, as it will be, and its pods: the beginning of a rollout (``rollouts``).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from reprieve.cluster.api.rollouts import DeploymentRules, StatefulSetRules, scaled
from reprieve.cluster.api.templates import owner_in, pod_of, pod_of_set
from reprieve.cluster.api.values import means_the_same, name_of, part, text_in
from reprieve.inquiry.controller_objects import eligible_node, pod_of_node, replica_set_of
from reprieve.inquiry.decoded_cluster import ObjectsByName
from reprieve.inquiry.object_changes import changes_of
from reprieve.inquiry.rollouts import (
    DaemonSetRollout,
    DeploymentRollout,
    MakePod,
    Member,
    ObjectRollout,
    RolledObject,
    SizedSet,
    StatefulSetRollout,
    daemon_set_words,
    deployment_words,
    stateful_set_words,
)
from reprieve.model.annotations import member_cost
from reprieve.model.json import Json
from reprieve.model.objects import Node, ObjectMeta, Pod

ROLLED_KINDS = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet")
_DEPLOYMENT_HASH, _REVISION_HASH = "pod-template-hash", "controller-revision-hash"
_ORDINAL = re.compile(r"-(0|[1-9]\d{0,9})", re.ASCII)


@dataclass(slots=True)
class RolloutBuilder:
    """``old``, ``body``: the object as it runs and as it will be, with defaults. ``pods``: those that it has.

    ``made`` creates a pod; ``renamed`` gives a free name to one; ``created`` creates another object.
    """

    body: Json
    old: Json
    pods: list[Pod]
    objects: ObjectsByName
    made: MakePod
    renamed: Callable[[Json, str], Json]
    created: Callable[[Json], Json]
    notes: list[str] = field(default_factory=list)

    @property
    def _spec(self) -> Json:
        return part(self.body, "spec")

    @property
    def _keeps_template(self) -> bool:
        return means_the_same(part(self.old, "spec", "template"), part(self._spec, "template"))

    def rollout(self, place: Pod, nodes: Iterable[Node]) -> ObjectRollout:
        """``place``: a pod of a DaemonSet, for its constraints."""
        match text_in(self.body, "kind"):
            case "Deployment":
                found: ObjectRollout = self._deployment()
            case "StatefulSet":
                found = self._stateful_set()
            case "DaemonSet":
                found = self._daemon_set(place, sorted(nodes, key=lambda node: node.metadata.name))
            case _:
                found = self._replica_set()
        for pod in self.pods:
            name = _name(pod)
            if name in found.members and found.members[name].is_new and not pod.spec.node_name:
                found.pods[name] = pod
        return found

    def _of(self, how: str) -> RolledObject:
        owner, seconds = owner_in(self.body), self._spec.get("minReadySeconds")
        return RolledObject(
            owner.kind,
            owner.namespace,
            owner.name,
            changes_of(self.old, self.body),
            how,
            self.made,
            float(seconds) if isinstance(seconds, int) else 0.0,
            text_in(part(self._spec, "template", "spec"), "schedulerName"),
        )

    # --- Deployments and ReplicaSets ---

    def _deployment(self) -> DeploymentRollout:
        spec, strategy = self._spec, part(self._spec, "strategy")
        rolling = part(strategy, "rollingUpdate")
        limits = (rolling.get("maxSurge", "25%"), rolling.get("maxUnavailable", "25%"))
        rules = DeploymentRules.of(_count(spec), text_in(strategy, "type"), *limits)
        own = sorted(self._replica_sets(), key=_age)
        current = [one for one in own if self._is_current(one)]
        old = [one for one in own if one not in current]
        members: dict[tuple[str, str], Member] = {}
        for row, one in enumerate(old):
            members |= {_name(pod): _member(False, row, pod) for pod in self._pods_of(one)}
        for one in current:
            members |= {_name(pod): _member(True, len(old), pod) for pod in self._pods_of(one)}
        numbers = count(len(self.pods))
        sets = [self._sized([one], numbers) for one in old]
        paused = spec.get("paused") is True
        new: Callable[[], Json] | None = None
        if current:
            sets.append(self._sized(current, numbers))
        elif not paused:
            new = partial(self._pod_of_set, self.created(replica_set_of(self.body)), numbers)
        if paused and not current:
            return DeploymentRollout(self._of("it is paused: no pod is replaced"), members, sets=sets[-1:])
        return DeploymentRollout(self._of(deployment_words(rules)), members, sets=sets, rules=rules, new=new)

    def _replica_sets(self) -> Iterator[Json]:
        owner = owner_in(self.body)
        for one in self.objects.all("ReplicaSet"):
            references = part(one, "metadata").get("ownerReferences")
            if text_in(part(one, "metadata"), "namespace") == owner.namespace and any(
                ref.get("controller") and (ref.get("kind"), ref.get("name")) == (owner.kind, owner.name)
                for ref in references or ()
            ):
                yield one

    def _is_current(self, replica_set: Json) -> bool:
        """One that was written by hand may have no template: then it has that of the Deployment."""
        template = part(replica_set, "spec", "template")
        if not template:
            return self._keeps_template
        return means_the_same(_without_hash(template), part(self._spec, "template"))

    def _pods_of(self, replica_set: Json) -> list[Pod]:
        return [pod for pod in self.pods if _controller(pod.metadata) == name_of(replica_set)]

    def _sized(self, sets: list[Json], numbers: "count[int]") -> SizedSet:
        """Several that have the current template count as one."""
        asked = [
            _count(part(one, "spec"))
            if part(one, "spec", "template")
            else sum(pod.metadata.deletion_timestamp is None for pod in self._pods_of(one))
            for one in sets
        ]
        return SizedSet(sum(asked), partial(self._pod_of_set, sets[-1], numbers))

    def _pod_of_set(self, replica_set: Json, numbers: "count[int]") -> Json:
        """Of a ReplicaSet without a template: of the Deployment's."""
        template = part(replica_set, "spec", "template") or part(self._spec, "template")
        pod = pod_of(template, owner_in(replica_set))
        return self._named(pod, f"{name_of(self.body)}-{next(numbers)}")

    def _replica_set(self) -> DeploymentRollout:
        members = {_name(pod): _member(True, 0, pod) for pod in self.pods}
        numbers = count(len(self.pods))
        sized = SizedSet(_count(self._spec), partial(self._pod_of_set, self.body, numbers))
        how = f"a {owner_in(self.body).kind} replaces no pods: only those that it creates get a new template"
        return DeploymentRollout(self._of(how), members, sets=[sized])

    def _named(self, pod: Json, name: str) -> Json:
        meta = {k: v for k, v in part(pod, "metadata").items() if k != "generateName"}
        return self.renamed({**pod, "metadata": meta}, name)

    # --- StatefulSets ---

    def _stateful_set(self) -> StatefulSetRollout:
        spec, strategy = self._spec, part(self._spec, "updateStrategy")
        start, rolling = part(spec, "ordinals").get("start", 0), part(strategy, "rollingUpdate")
        rules = StatefulSetRules(
            range(start, start + _count(spec)),
            spec.get("podManagementPolicy") != "Parallel",
            rolling.get("partition", 0),
            rolling.get("maxUnavailable", 1),
        )
        rolls = text_in(strategy, "type") != "OnDelete"
        members, owner = {}, owner_in(self.body)
        for pod in self.pods:
            found = _ORDINAL.fullmatch(pod.metadata.name.removeprefix(owner.name))
            if found is not None:
                members[_name(pod)] = _member(self._is_updated(pod), int(found[1]), pod)
        how = stateful_set_words(rules, rolls=rolls)
        return StatefulSetRollout(
            self._of(how), members, rules=rules, rolls=rolls, pod=self._pod_with_ordinal
        )

    def _is_updated(self, pod: Pod) -> bool:
        """The status names the revision of the template that runs."""
        latest = text_in(part(self.old, "status"), "updateRevision")
        revision = pod.metadata.labels.get(_REVISION_HASH, latest)
        return self._keeps_template and (not latest or revision == latest)

    def _pod_with_ordinal(self, number: int, is_new: bool) -> Json:
        template = part(self.body if is_new else self.old, "spec", "template")
        return pod_of_set({**self._spec, "template": template}, owner_in(self.body), number)

    # --- DaemonSets ---

    def _daemon_set(self, place: Pod, nodes: list[Node]) -> DaemonSetRollout:
        strategy = part(self._spec, "updateStrategy")
        rolling, rolls = part(strategy, "rollingUpdate"), text_in(strategy, "type") != "OnDelete"
        eligible = [eligible_node(place, node) for node in nodes]
        wanted = sum(node.may_create for node in eligible)
        surge = (scaled(rolling.get("maxSurge", 0), wanted, round_up=True) or 0) if rolls else 0
        most = max(1, scaled(rolling.get("maxUnavailable", 1), wanted, round_up=True) or 0)
        rows = {node.name: row for row, node in enumerate(eligible)}
        is_new = self._has_current_template() if self._keeps_template else lambda _: False
        members = {}
        for pod in self.pods:
            where = rows.get(pod.spec.node_name or _wanted_node(pod))
            if where is not None:
                members[_name(pod)] = _member(is_new(pod), where, pod)
        return DaemonSetRollout(
            self._of(daemon_set_words(wanted, surge, most, rolls=rolls)),
            members,
            nodes=eligible,
            rolls=rolls,
            surge=surge,
            most=most,
            pod=lambda node: self._named(pod_of_node(self.body, node), f"{owner_in(self.body).name}-{node}"),
        )

    def _has_current_template(self) -> Callable[[Pod], bool]:
        """Which pods of a DaemonSet have the template that it keeps. ControllerRevisions are not read: in the
        middle of a rollout it is that of the pod that was created last, or of none if none is updated yet."""
        status = part(self.old, "status")
        if status.get("currentNumberScheduled", 0) and not status.get("updatedNumberScheduled", 0):
            return lambda _: False
        last = max(self.pods, key=lambda pod: (_created(pod), _name(pod)), default=None)
        newest = last.metadata.labels.get(_REVISION_HASH) if last is not None else None
        return lambda pod: pod.metadata.labels.get(_REVISION_HASH) == newest


def _name(pod: Pod) -> tuple[str, str]:
    return pod.metadata.namespace, pod.metadata.name


def _member(is_new: bool, place: int, pod: Pod) -> Member:
    return Member(is_new, place, _created(pod), member_cost(pod.metadata)[1])


def _created(pod: Pod) -> float:
    since = pod.metadata.creation_timestamp
    return since.timestamp() if since is not None else 0.0


def _age(body: Json) -> tuple[str, str]:
    return text_in(part(body, "metadata"), "creationTimestamp"), name_of(body)


def _controller(meta: ObjectMeta) -> str:
    return next((ref.name for ref in meta.owner_references if ref.controller), "")


def _count(spec: Json) -> int:
    found = spec.get("replicas", 1)
    return found if isinstance(found, int) else 1


def _without_hash(template: Json) -> Json:
    meta = part(template, "metadata")
    labels = {key: value for key, value in part(meta, "labels").items() if key != _DEPLOYMENT_HASH}
    return {**template, "metadata": {**meta, "labels": labels}}


def _wanted_node(pod: Pod) -> str:
    """The node that the affinity of a daemon pod names."""
    required = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    terms = required.node_selector_terms if required is not None else ()
    fields = (one for term in terms for one in term.match_fields)
    return next((one.values[0] for one in fields if one.key == "metadata.name" and one.values), "")
