"""How does the page answer why, exposure and what-if? As the commands of these names do.

Which cluster is asked about, and as of when, is a function of the caller's.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from itertools import count

from reprieve.assembly.inquiries import InquirySettings, PolicyChoice, exposure_of, inquiry_settings
from reprieve.config import InvalidConfigurationError
from reprieve.inquiry.asked_demands import WhatIfQuestion
from reprieve.inquiry.decoded_cluster import DecodedCluster, parsed
from reprieve.inquiry.exposure import PodFilter
from reprieve.inquiry.exposure_report import exposure_json, exposure_lines
from reprieve.inquiry.manifests import Manifest
from reprieve.inquiry.object_files import parse_objects
from reprieve.inquiry.object_names import ObjectName
from reprieve.inquiry.trials import Asking
from reprieve.inquiry.whatif import WhatIfAnswer, whatif
from reprieve.inquiry.whatif_report import answers_json
from reprieve.inquiry.whatif_text import answer_lines
from reprieve.inquiry.why import Evidence, UnknownObjectError, WhyReport, why_json, why_lines
from reprieve.inquiry.why_answers import why_decision, why_object
from reprieve.model.groups import group_key, groups_table
from reprieve.model.json import Json
from reprieve.model.objects import Node, PriorityClass
from reprieve.model.resources import CPU
from reprieve.page.rows import NodeRow, PodRow, PodState, name_key, node_row, pod_row
from reprieve.page.sources import PageRefusedError, WhyQuestion
from reprieve.report.text_layout import TextLine
from reprieve.runtime.recent_decisions import KeptDecision

OF_THE_CLUSTER = PolicyChoice()
_ALTERNATIVES = 5  # plans that were not chosen, as the command shows by default
_WHERE = "the manifests"
_MOST_BYTES = 4 << 20  # of manifests, with every alias written out


@dataclass(frozen=True, slots=True)
class AskedCluster:
    """``decode``: takes long, so another thread does it. ``decisions``: the oldest first."""

    decode: Callable[[], DecodedCluster]
    decisions: tuple[KeptDecision, ...]
    choice: PolicyChoice = OF_THE_CLUSTER


ReadCluster = Callable[[float | None], Awaitable[AskedCluster]]
Submit = Callable[[bytes], Awaitable[Json]]


@dataclass(frozen=True, slots=True)
class ClusterQuestions:
    """``read``: the cluster at a moment, or now. ``submit``: creates objects in it, if it may be changed."""

    read: ReadCluster
    submit: Submit | None = None

    async def why(self, asked: WhyQuestion, at: float | None) -> Json:
        cluster = await self.read(at)
        return await asyncio.to_thread(_why, asked, cluster)

    async def exposure(self, namespace: str, at: float | None) -> Json:
        cluster = await self.read(at)
        return await asyncio.to_thread(_exposure, namespace, cluster)

    async def whatif(self, manifests: bytes, at: float | None) -> Json:
        asked = await asyncio.to_thread(manifests_in, manifests)
        cluster = await self.read(at)
        return await asyncio.to_thread(_whatif, asked, cluster)

    async def example(self, at: float | None) -> Json:
        cluster = await self.read(at)
        return await asyncio.to_thread(_example, cluster)

    async def apply(self, manifests: bytes) -> Json:
        if self.submit is None:
            raise PageRefusedError("this cluster is only read here", HTTPStatus.NOT_FOUND)
        return await self.submit(manifests)


# --- why -----------------------------------------------------------------------------------------


def _why(asked: WhyQuestion, cluster: AskedCluster) -> Json:
    try:
        report = _why_report(asked, cluster)
    except UnknownObjectError as error:
        raise PageRefusedError(str(error), HTTPStatus.NOT_FOUND) from error
    return {**why_json(report), "headline": report.headline, "text": _text(why_lines(report))}


def _why_report(asked: WhyQuestion, cluster: AskedCluster) -> WhyReport:
    if asked.decision:
        return why_decision(asked.decision, cluster.decisions)
    known = cluster.decode()
    chosen = _settings(cluster.choice, known)
    evidence = Evidence(known, cluster.decisions, known.source.taken_at)
    report = why_object(_name(asked), evidence, Asking(chosen.settings, chosen.policy))
    return replace(report, notes=(*known.notes, *report.notes))


def _name(asked: WhyQuestion) -> ObjectName:
    named = ((asked.pod, "Pod"), (asked.group, "PodGroup"), (asked.tree, "CompositePodGroup"))
    text, kind = next(one for one in named if one[0])
    namespace, slash, name = text.partition("/")
    if not (slash and namespace and name) or "/" in name:
        raise PageRefusedError(f'expected NAMESPACE/NAME, got "{text[:80]}"')
    return ObjectName(namespace, name, kind)


# --- exposure ------------------------------------------------------------------------------------


def _exposure(namespace: str, cluster: AskedCluster) -> Json:
    known = cluster.decode()
    report = exposure_of(known, _settings(cluster.choice, known), PodFilter(namespace, ()))
    return {**exposure_json(report), "text": _text(exposure_lines(report, namespaces=not namespace))}


# --- what-if -------------------------------------------------------------------------------------


def manifests_in(text: bytes) -> tuple[Manifest, ...]:
    """May take long. Raises PageRefusedError."""
    found = parse_objects(text, _WHERE, _MOST_BYTES)
    if found.problems:
        raise PageRefusedError("; ".join(found.problems))
    several = len(found.objects) > 1
    return tuple(
        Manifest(parsed(thing), f"{_WHERE}, document {document}" if several else _WHERE)
        for thing, document in zip(found.objects, found.documents, strict=True)
    )


def _whatif(manifests: tuple[Manifest, ...], cluster: AskedCluster) -> Json:
    known = cluster.decode()
    chosen = _settings(cluster.choice, known, (manifest.body for manifest in manifests))
    question = WhatIfQuestion(known, chosen.settings, chosen.policy, manifests=manifests)
    answer = whatif(question, known.source.taken_at)
    if answer.problems:
        raise PageRefusedError("; ".join(answer.problems))
    answer = replace(answer, notes=(*answer.notes, *chosen.notes))
    lines = answer_lines([answer], _ALTERNATIVES)
    return {**answers_json([answer]), "text": _text(lines), "overlay": _overlay(answer, known)}


def _overlay(answer: WhatIfAnswer, known: DecodedCluster) -> Json:
    """What a picture of the cluster needs to show the plan: UIDs of pods, and nodes of the new ones."""
    spared = {spared.unit for report in answer.reports for spared in report.room.spared}
    victims = [victim.pod.uid for report in answer.reports for victim in report.victims]
    return {
        "victims": victims,
        "spared": [uid for uid in _uids(spared, known) if uid not in set(victims)],
        "placements": [
            {"pod": f"{pod.namespace}/{pod.name}", "node": node}
            for report in answer.reports
            for pod, node in report.placements
        ],
    }


def _uids(units: Iterable[str], known: DecodedCluster) -> Iterator[str]:
    named, groups = set(units), groups_table(one.object for one in known.seen)
    for pod in known.pods():
        meta = pod.metadata
        around = (name for name, _ in groups.chain(group_key(pod)))
        if pod.spec.node_name and not named.isdisjoint((f"Pod/{meta.namespace}/{meta.name}", *around)):
            yield meta.uid


# --- an example ----------------------------------------------------------------------------------


_DEFAULT_NAMESPACE, _LAST_NAMESPACE = "default", "kube-system"
_OWN_CLASSES = "system-"  # these are for what the cluster itself runs on
_STEP = 1000  # a cpu


def _example(cluster: AskedCluster) -> Json:
    """A manifest that this cluster does not refuse: a namespace or a quota may forbid the first one."""
    known = cluster.decode()
    texts = [*_examples(known)]
    for text in texts:
        with suppress(PageRefusedError):
            _whatif(manifests_in(text.encode()), replace(cluster, decode=lambda: known))
            return {"yaml": text}
    return {"yaml": texts[-1]}


def _examples(known: DecodedCluster) -> Iterator[str]:
    """The most instructive first: a pod that preempts, if there are a class and victims for it."""
    pods = [pod_row(pod) for pod in known.pods()]
    nodes = [node_row(one.object) for one in known.seen if isinstance(one.object, Node)]
    taken = {pod.key for pod in pods}
    used = Counter(pod.metadata.namespace for pod in known.pods())
    namespaces = dict.fromkeys(
        [_DEFAULT_NAMESPACE, *(name for name, _ in used.most_common(2)), _LAST_NAMESPACE]
    )
    classes = (one.object for one in known.seen if isinstance(one.object, PriorityClass))
    usable = (one for one in classes if _is_for_examples(one))
    highest = max(usable, key=lambda one: (one.value, one.metadata.name), default=None)
    for chosen in (highest, None) if highest is not None else (None,):
        cpu = _example_cpu(nodes, pods, chosen.value if chosen is not None else None)
        for namespace in namespaces:
            names = (f"example-{number}" for number in count(1))
            name = next(name for name in names if name_key(namespace, name) not in taken)
            yield _example_pod(namespace, name, chosen.metadata.name if chosen is not None else "", cpu)


def _is_for_examples(priority_class: PriorityClass) -> bool:
    is_own = priority_class.metadata.name.startswith(_OWN_CLASSES)
    return not is_own and priority_class.preemption_policy != "Never"


def _example_cpu(nodes: Sequence[NodeRow], pods: Sequence[PodRow], priority: int | None) -> int:
    """More than is free on any node, if evictions below the priority make room; else half of what is."""
    open_nodes = [node for node in nodes if node.ready and not node.cordoned]
    free = {node.name: node.allocatable.get(CPU, 0) for node in open_nodes}
    lower = dict.fromkeys(free, 0)
    for pod in pods:
        if pod.node not in free or pod.state is PodState.DONE:
            continue
        held = pod.requests.get(CPU, 0)
        free[pod.node] -= held
        if priority is not None and pod.priority < priority:
            lower[pod.node] += held
    most = max(free.values(), default=0)
    preempts = any(free[name] + lower[name] >= most + _STEP for name in free)
    return most + _STEP if preempts else max(most // 2, _STEP // 10)


def _example_pod(namespace: str, name: str, priority_class: str, cpu: int) -> str:
    amount = f'"{cpu // _STEP}"' if cpu % _STEP == 0 else f"{cpu}m"
    named = f"  priorityClassName: {priority_class}\n" if priority_class else ""
    return f"""apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: {namespace}
spec:
{named}  containers:
  - name: main
    image: example/app:1
    resources:
      requests:
        cpu: {amount}
"""


# --- how it is decided ---------------------------------------------------------------------------


def _settings(choice: PolicyChoice, known: DecodedCluster, manifests: Iterable[Json] = ()) -> InquirySettings:
    try:
        return inquiry_settings(choice, known, manifests)
    except InvalidConfigurationError as error:
        raise PageRefusedError(f"the configuration cannot be used: {error}") from error


def _text(lines: Iterable[TextLine]) -> str:
    return "\n".join(line.text for line in lines)
