"""Which pods and groups would come of these manifests, as the API server and its controllers would make them?

Manifests pass admission against the objects of the cluster: defaults, priority classes, limit ranges, quotas.
Templates are expanded into pods. Whatever is refused is a problem: a sentence that names the file, the
document and the field.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from reprieve.cluster.admission.admission import (
    AdmissionRefusal,
    AdmissionRequest,
    Operation,
    admit,
)
from reprieve.cluster.admission.features import ALL_FEATURES, Features
from reprieve.cluster.admission.quotas import UsageChange, applies, charged, counted_usage, refunded, usage_of
from reprieve.cluster.api.codec import CLUSTER_SCOPED, Decoded
from reprieve.cluster.api.templates import daemon_pod, groups_of, owner_in, pods_of
from reprieve.cluster.api.values import (
    means_the_same,
    name_of,
    part,
    storage_class_in,
    text_in,
    without_nulls,
)
from reprieve.inquiry.controller_objects import (
    claims_of_set,
    daemon_pods,
    ephemeral_claims,
    namespace_in,
    next_job_of,
    provisioned,
    replica_set_of,
)
from reprieve.inquiry.decoded_cluster import DecodedCluster, ObjectsByName, decoded_bodies, uid_for
from reprieve.inquiry.manifest_kinds import (
    KindRole,
    kind_fault,
    pods_of_templates,
    role_of,
    templates_in,
    turn_of,
    with_class,
)
from reprieve.inquiry.object_changes import applied, budget_status, defaulted
from reprieve.inquiry.rehearsal import PodName
from reprieve.inquiry.rollout_building import ROLLED_KINDS, RolloutBuilder
from reprieve.inquiry.rollouts import ObjectRollout, Rollouts
from reprieve.model.formatting import counted, listed
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Node, Pod, ReplicaSet, runs
from reprieve.model.resources import Amounts

# Metadata that a server sets: manifests that were exported from a cluster have it.
_OF_THE_SERVER = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
)
_NOT_CHANGED = ("Pod", "PersistentVolumeClaim")
_QUOTA_NAMES = {
    "Pod": "pods",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Service": "services",
    "Deployment": "deployments.apps",
    "ReplicaSet": "replicasets.apps",
    "StatefulSet": "statefulsets.apps",
    "DaemonSet": "daemonsets.apps",
    "Job": "jobs.batch",
    "CronJob": "cronjobs.batch",
}


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object as a client would send it. ``where``: "new.yaml, document 2", for problems."""

    body: Json
    where: str = ""


@dataclass(frozen=True, slots=True)
class AskedObject:
    """An object of a manifest, and the pods that come of it."""

    kind: str
    namespace: str
    name: str
    pods: tuple[Pod, ...] = ()
    rollout: ObjectRollout | None = None  # of an object that exists


@dataclass(frozen=True, slots=True)
class AdmittedManifests:
    """``created``: what a scheduler would see of them, pods included. ``rollouts``: of objects that exist."""

    created: tuple[Decoded[KubernetesObject], ...] = ()
    rollouts: Rollouts | None = None
    asked: tuple[AskedObject, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def admitted(
    manifests: Iterable[Manifest],
    cluster: DecodedCluster,
    namespace: str,
    priority_class: str = "",
    features: Features = ALL_FEATURES,
) -> AdmittedManifests:
    """``priority_class``: which pods and groups get instead of their own."""
    creating = _Creating(cluster, namespace, priority_class, features)
    for manifest in sorted(manifests, key=lambda manifest: turn_of(manifest.body)):
        creating.create(manifest)
    return creating.result()


class _RefusedError(Exception):
    """The API server would refuse the object: a sentence."""


@dataclass(slots=True)
class _Creating:
    cluster: DecodedCluster
    namespace: str
    priority_class: str
    features: Features
    lookup: "_Lookup" = field(init=False)
    created: list[Decoded[KubernetesObject]] = field(default_factory=list)
    asked: list[AskedObject] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    taken: set[PodName] = field(default_factory=set)  # names that pods have, or had

    def __post_init__(self) -> None:
        self.taken = {(pod.metadata.namespace, pod.metadata.name) for pod in self.cluster.pods()}
        self.lookup = _Lookup(self.cluster.by_name.copy(), _known_namespaces(self.cluster))

    def result(self) -> AdmittedManifests:
        rolled = [one.rollout for one in self.asked if one.rollout is not None]
        rollouts = Rollouts(rolled, self._forget) if rolled else None
        notes, problems = tuple(dict.fromkeys(self.notes)), tuple(self.problems)
        return AdmittedManifests(tuple(self.created), rollouts, tuple(self.asked), notes, problems)

    def create(self, manifest: Manifest) -> None:
        where = f"{manifest.where}: " if manifest.where else ""
        body = manifest.body
        kind, api_version = text_in(body, "kind"), text_in(body, "apiVersion")
        if not kind or not api_version:
            missing = "kind" if not kind else "apiVersion"
            self.problems.append(f"{where}{missing}: expected a string, got nothing")
            return
        if fault := kind_fault(body):
            self.problems.append(f"{where}{fault}")
            return
        try:
            self._create(body)
        except _RefusedError as refusal:
            self.problems.append(f"{where}{refusal}")

    def _create(self, sent: Json) -> None:
        sent, role = with_class(sent, self.priority_class), role_of(sent)
        if role is KindRole.WITHOUT_PODS:
            return
        if role is KindRole.UNKNOWN:
            self._create_unknown(sent)
            return
        if sent["kind"] == "Pod":
            (pod,) = self._created_pod(sent)
            self.asked.append(AskedObject("Pod", pod.metadata.namespace, pod.metadata.name, (pod,)))
            return
        if sent["kind"] == "PersistentVolumeClaim":
            self._create_claim(sent)
            return
        old = self._known(sent)
        body = self._created(sent)
        if body["kind"] == "Workload":
            self._ask(body, ())
            for group in groups_of(body):
                self._created(group)
        elif body["kind"] in ("PodGroup", "CompositePodGroup"):
            self._ask(body, ())
        elif old is not None and body["kind"] in ROLLED_KINDS:
            self._roll(body, old)
        elif role is KindRole.POD_MAKER:
            self._ask(body, tuple(self._pods(body)))

    def _create_unknown(self, sent: Json) -> None:
        """Its controller is not known: what its templates say is all that can be asked about."""
        meta = part(sent, "metadata")
        name = text_in(meta, "name") or f"{text_in(meta, 'generateName')}new"
        namespace = text_in(meta, "namespace") or self.namespace
        own = {"name": name, "namespace": namespace, "uid": uid_for(text_in(sent, "kind"), namespace, name)}
        body = {**sent, "metadata": {**meta, **own}}
        what = f"{body['kind']} {namespace}/{name}"
        known = f"{what} is of {body['apiVersion']}, a kind that is not known here"
        found = templates_in(body)
        if not found:
            self.notes.append(f"{known}, and has no pod template: the answer leaves it out.")
            return
        places = listed([f"{counted(one.pods, 'pod')} of {one.path}" for one in found])
        self.notes.append(
            f"{known}: its pod templates are asked about ({places}), and not what else it does."
        )
        pods = (self._renamed(pod, name_of(pod)) for pod in pods_of_templates(owner_in(body), found))
        self._ask(body, tuple(made for pod in pods for made in self._created_pod(pod)))

    def _ask(self, body: Json, pods: tuple[Pod, ...]) -> None:
        meta = part(body, "metadata")
        self.asked.append(AskedObject(body["kind"], text_in(meta, "namespace"), name_of(body), pods))

    # --- one object ---

    def _stored(self, sent: Json) -> Json:
        kind, api_version = text_in(sent, "kind"), text_in(sent, "apiVersion")
        meta = {k: v for k, v in part(sent, "metadata").items() if k not in _OF_THE_SERVER}
        name = text_in(meta, "name") or (f"{g}new" if (g := text_in(meta, "generateName")) else "")
        if not name:
            raise _RefusedError(f"{kind}: metadata.name: expected a name, got nothing")
        namespace = text_in(meta, "namespace") or self.namespace
        group, _, version = api_version.rpartition("/")
        new = {
            **without_nulls(sent),
            "metadata": {**meta, "name": name, "uid": self._uid(kind, namespace, name)},
        }
        old = self._known(new)
        request = AdmissionRequest(
            Operation.CREATE if old is None else Operation.UPDATE,
            group,
            version,
            kind,
            new if old is None else applied(old, new),
            old,
            namespace=namespace if kind not in CLUSTER_SCOPED else "",
            name=name if old is not None else "",
            features=self.features,
        )
        answer = admit(request, self.lookup)
        match answer:
            case dict():
                return self._settled(answer, old)
            case AdmissionRefusal(sentence=sentence):
                raise _RefusedError(f"{kind} {name}: {self._hinted(sentence)}")
            case errors:
                once = "; its pods cannot change: delete it first, or take another name"
                hint = once if old is not None and kind == "Job" else ""
                raise _RefusedError(f"{kind} {name}: {'; '.join(map(str, errors))}{hint}")

    def _uid(self, kind: str, namespace: str, name: str) -> str:
        """A pod with the name of one that is or was there is another pod."""
        known = kind == "Pod" and (namespace, name) in self.taken
        if kind == "Pod":
            self.taken.add((namespace, name))
        return uid_for(kind, namespace, f"{name}/{len(self.created)}" if known else name)

    def _known(self, sent: Json) -> Json | None:
        """The object as it is in the cluster, which the manifest changes; pods and claims are not changed."""
        kind, meta = text_in(sent, "kind"), part(sent, "metadata")
        namespace = "" if kind in CLUSTER_SCOPED else text_in(meta, "namespace") or self.namespace
        old = self.cluster.by_name.find(kind, namespace, text_in(meta, "name"))
        if old is None or kind in _NOT_CHANGED or text_in(old, "apiVersion") != text_in(sent, "apiVersion"):
            return None
        own = {"namespace": namespace} if namespace else {}
        uid = uid_for(kind, namespace, name_of(old))
        return {**old, "metadata": {"uid": uid, **part(old, "metadata"), **own}}

    def _settled(self, body: Json, old: Json | None) -> Json:
        """As controllers complete it at once: the status of a quota or budget that is new or has changed."""
        if old is None:
            self._charge(body)
        if old is not None and means_the_same(part(old, "spec"), part(body, "spec")):
            return body
        match body["kind"]:
            case "ResourceQuota":
                used = counted_usage(body, self._things_in(namespace_in(body)))
                return {**body, "status": {"hard": part(body, "spec", "hard"), "used": used}}
            case "PodDisruptionBudget":
                return {**body, "status": budget_status(body, self.cluster.pods())}
        return body

    def _things_in(self, namespace: str) -> Iterator[tuple[str, Json, Amounts]]:
        for kind, resource in _QUOTA_NAMES.items():
            for body in self.lookup.all(kind):
                if namespace_in(body) == namespace:
                    yield resource, body, usage_of(resource, body)

    def _forget(self, name: PodName) -> None:
        """A pod that is gone leaves its name, and what it used of quotas."""
        body = self.lookup.find("Pod", *name)
        if body is None:
            return
        self.lookup.objects.remove("Pod", *name)
        for quota in [q for q in self.lookup.all("ResourceQuota") if namespace_in(q) == name[0]]:
            if applies(quota, "pods", body):
                used = refunded(quota, "pods", body)
                self.lookup.put({**quota, "status": {**part(quota, "status"), "used": used}})

    def _hinted(self, sentence: str) -> str:
        if "there is no PriorityClass" not in sentence:
            return sentence
        known = sorted(name_of(one) for one in self.lookup.all("PriorityClass"))
        return f"{sentence}; there {'is' if len(known) == 1 else 'are'} {listed(known) or 'none'}"

    def _charge(self, body: Json) -> None:
        """A quota whose use is not known, as in a file that was written by hand, limits nothing here."""
        resource = _QUOTA_NAMES.get(body["kind"])
        if resource is None:
            return
        namespace = text_in(part(body, "metadata"), "namespace")
        change = UsageChange(resource, body, {})
        for quota in [q for q in self.lookup.all("ResourceQuota") if namespace_in(q) == namespace]:
            if not applies(quota, resource, body):
                continue
            if not part(quota, "status", "hard"):
                self.notes.append(
                    f"ResourceQuota {namespace}/{name_of(quota)} shows no use: it is not applied."
                )
                continue
            used = charged(quota, change)
            if isinstance(used, str):
                raise _RefusedError(f"{body['kind']} {name_of(body)}: {used}")
            self.lookup.put({**quota, "status": {**part(quota, "status"), "used": used}})

    def _add(self, body: Json) -> list[Decoded[KubernetesObject]]:
        self.lookup.put(body)
        found = [*decoded_bodies([body])]
        self.created.extend(found)
        return found

    # --- the pods of an object that exists ---

    def _roll(self, body: Json, old: Json) -> None:
        kind, pods = body["kind"], [pod for pod in self._existing(body) if runs(pod)]
        before = defaulted(old, self.features)
        building = RolloutBuilder(
            body,
            before,
            pods,
            self.cluster.by_name,
            lambda pod: self._made(pod, body),
            self._renamed,
            self._created,
        )
        nodes = [one.object for one in (*self.cluster.seen, *self.created) if isinstance(one.object, Node)]
        place = self._place(body) if kind == "DaemonSet" else Pod()
        rollout = building.rollout(place, nodes)
        self.notes += building.notes
        meta = part(body, "metadata")
        self.asked.append(AskedObject(kind, text_in(meta, "namespace"), name_of(body), (), rollout))

    def _made(self, pod: Json, owner: Json) -> tuple[Decoded[KubernetesObject], ...] | str:
        """What is created with a pod of a rollout, or why it is refused."""
        before = len(self.created)
        try:
            for claim in claims_of_set(owner, name_of(pod)):
                self._create_claim(claim)
            for _ in self._created_pod(pod):
                pass
        except _RefusedError as refusal:
            return str(refusal)
        return tuple(self.created[before:])

    # --- the pods of an object ---

    def _pods(self, body: Json) -> Iterator[Pod]:
        """A pod that exists already is not created again."""
        owner, there = owner_in(body), self._existing(body)
        fresh = [*self._fresh(body, there)]
        if there:
            what = f"{owner.kind} {owner.namespace}/{owner.name}"
            more = counted(len(fresh), "more pod")
            self.notes.append(f"{what} exists and has {counted(len(there), 'pod')}: {more} would be created.")
        for pod in fresh:
            yield from self._created_pod(pod)

    def _created_pod(self, body: Json) -> Iterator[Pod]:
        stored = self._stored(body)
        namespace, name = namespace_in(stored), name_of(stored)
        if (known := self.lookup.find("Pod", namespace, name)) is not None:
            raise _RefusedError(f"Pod {namespace}/{name} {self._state_of(known)}")
        if node := text_in(part(stored, "spec"), "nodeName"):
            raise _RefusedError(f"Pod {name}: spec.nodeName is {node}: then no scheduler decides about it")
        for claim in ephemeral_claims(stored):
            self._create_claim(claim)
        for found in self._add(stored):
            if isinstance(found.object, Pod):
                yield found.object

    def _state_of(self, pod: Json) -> str:
        if self.cluster.by_name.find("Pod", namespace_in(pod), name_of(pod)) is None:
            return "is given twice"
        node = text_in(part(pod, "spec"), "nodeName")
        return (
            f"exists already and runs on {node}"
            if node
            else f"exists already and waits: ask about pod/{name_of(pod)}"
        )

    def _fresh(self, body: Json, there: Sequence[Pod]) -> Iterator[Json]:
        match body["kind"]:
            case "DaemonSet":
                yield from self._daemons(body, {pod.spec.node_name for pod in there})
            case "StatefulSet":
                known = {pod.metadata.name for pod in there}
                for pod in [pod for pod in pods_of(body) if name_of(pod) not in known]:
                    for claim in claims_of_set(body, name_of(pod)):
                        self._create_claim(claim)
                    yield pod
            case "CronJob" if part(body, "spec").get("suspend") is True:
                owner = owner_in(body)
                self.notes.append(
                    f"CronJob {owner.namespace}/{owner.name} is suspended: it needs nothing now."
                )
            case "CronJob":
                yield from pods_of(self._created(next_job_of(body)))
            case "Deployment":
                pods = [*pods_of(self._created(replica_set_of(body)))]
                for number, pod in enumerate(pods[len(there) :], len(there)):
                    yield self._renamed(pod, f"{name_of(body)}-{number}")
            case _:
                for pod in [*pods_of(body)][len(there) :]:
                    yield self._renamed(pod, name_of(pod))

    def _created(self, sent: Json) -> Json:
        body = self._stored(sent)
        self._add(body)
        return body

    def _renamed(self, pod: Json, name: str) -> Json:
        """The names of pods are ours: one that is taken is not used."""
        meta = part(pod, "metadata")
        while self.lookup.find("Pod", text_in(meta, "namespace"), name) is not None:
            name = f"{name}-new"
        return {**pod, "metadata": {**meta, "name": name}}

    def _create_claim(self, sent: Json) -> None:
        """A volume that need not wait for a pod is provisioned, and its claim bound first."""
        if self.lookup.find("PersistentVolumeClaim", namespace_in(sent), name_of(sent)) is not None:
            return
        claim = self._stored(sent)
        name = storage_class_in(claim)
        storage_class = self.lookup.find("StorageClass", "", name)
        waits = text_in(storage_class or {}, "volumeBindingMode") == "WaitForFirstConsumer"
        known = storage_class is not None or self.lookup.objects.has_kind("StorageClass")
        if waits or (known and not text_in(storage_class or {}, "provisioner")):
            self._add(claim)
            return
        which = f" of class {name}" if name else ""
        self.notes.append(f"New volumes{which} are assumed to be provisioned where every node reaches them.")
        for body in provisioned(claim):
            self._add(body)

    def _daemons(self, body: Json, has: set[str]) -> Iterator[Json]:
        nodes = [one.object for one in (*self.cluster.seen, *self.created) if isinstance(one.object, Node)]
        return daemon_pods(body, self._place(body), [node for node in nodes if node.metadata.name not in has])

    def _place(self, daemon_set: Json) -> Pod:
        """A pod of the template, for its constraints."""
        pod = daemon_pod(part(daemon_set, "spec", "template"), owner_in(daemon_set), "")
        found = decoded_bodies([{**pod, "metadata": {"name": "trial"}}])
        return next(one.object for one in found if isinstance(one.object, Pod))

    def _existing(self, body: Json) -> list[Pod]:
        """The pods of the cluster that the object's controller owns, if the object exists."""
        owner = owner_in(body)
        if self.cluster.by_name.find(owner.kind, owner.namespace, owner.name) is None:
            return []
        owned = partial(_is_owned, namespace=owner.namespace)
        if owner.kind == "Deployment":
            sets = {
                one.object.metadata.name
                for one in self.cluster.seen
                if isinstance(one.object, ReplicaSet)
                and owned(one.object, kind="Deployment", names={owner.name})
            }
            return [pod for pod in self.cluster.pods() if owned(pod, kind="ReplicaSet", names=sets)]
        return [pod for pod in self.cluster.pods() if owned(pod, kind=owner.kind, names={owner.name})]


def _is_owned(thing: KubernetesObject, *, namespace: str, kind: str, names: set[str]) -> bool:
    meta = thing.metadata
    return meta.namespace == namespace and any(
        ref.controller and ref.kind == kind and ref.name in names for ref in meta.owner_references
    )


# --- what admission reads of the cluster ---------------------------------------------------------


@dataclass(slots=True)
class _Lookup:
    """``namespaces``: those that objects are in, for clusters whose Namespaces were not read."""

    objects: ObjectsByName
    namespaces: Mapping[str, Json]

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        found = self.objects.find(kind, namespace, name)
        if found is None and kind == "Namespace":
            return self.namespaces.get(name) if self.objects.has_kind("Namespace") else {}
        if kind == "RuntimeClass":
            return {}  # classes are not read: a pod counts as its manifest says
        return found

    def all(self, kind: str) -> Iterator[Json]:
        return self.objects.all(kind)

    def put(self, body: Json) -> None:
        self.objects.put(body)


def _known_namespaces(cluster: DecodedCluster) -> dict[str, Json]:
    return {one.object.metadata.namespace: {} for one in cluster.seen if one.object.metadata.namespace}
