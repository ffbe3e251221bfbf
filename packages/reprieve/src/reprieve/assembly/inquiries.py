"""With which settings is a question about a cluster answered: which policy, and which feature gates?

A gate that the input uses is on unless it is named, and what was assumed is listed. It must not know files,
flags, or any cluster but the one that was read.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from msgspec.structs import fields

from reprieve import config
from reprieve.assembly.scheduler_settings import settings_of
from reprieve.cluster.api.values import items, part, text_in
from reprieve.config.former_args import recorded_document, with_changed_args
from reprieve.config.reprieve_args import Preset
from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.inquiry.exposure import ExposureReport, PodFilter, exposure_report, running_view
from reprieve.inquiry.seen_events import limit_notes, with_evictions
from reprieve.model.conditions import is_deferred
from reprieve.model.json import Json
from reprieve.model.objects import Node, Pod, PriorityClass
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Demand
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.preemption import searches
from reprieve.preemption.criteria import AS_UPSTREAM, CRITERIA, DISTURBANCE, Criterion
from reprieve.preemption.policy import Policy
from reprieve.preemption.resize import Accounting, DeferredResizes
from reprieve.scheduler.plans.toleration_rules import protects_pods
from reprieve.scheduler.settings import Settings

POLICIES = tuple(str(preset) for preset in Preset)
SEARCHES = tuple(name for name in searches.SEARCHES if name not in POLICIES)
_HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
_GROUP_KINDS = ("PodGroup", "CompositePodGroup", "Workload")
_GROUP_API = "scheduling.k8s.io/"
_SAMPLED_FROM = 100  # nodes; kube-scheduler looks at all nodes of a smaller cluster


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """``name``: one of POLICIES, or what ``document``, a KubeSchedulerConfiguration, is called.

    One of SEARCHES: Reprieve's defaults with that search. Empty: the policy of the cluster, if it is known;
    otherwise Reprieve's defaults. ``search``, ``budgets`` and
    ``disturbance`` override the arguments of the same name.
    ``measured``: by which criteria to measure what plans disturb, whatever the search; None: not at all.
    """

    name: str = ""
    document: object = None
    search: str = ""
    budgets: str = ""
    feature_gates: str = ""
    disturbance: tuple[str, ...] = ()
    measured: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class InquirySettings:
    """``notes``: what was assumed, a sentence each."""

    policy: str
    settings: Settings
    notes: tuple[str, ...] = ()


def inquiry_settings(
    choice: PolicyChoice, cluster: DecodedCluster, manifests: Iterable[Json] = (), *, resizes: bool = False
) -> InquirySettings:
    """Raises InvalidConfigurationError. ``resizes``: whether the question is about a resize."""
    name, document = _document(choice, cluster)
    configured = config.parse_configuration(document)
    is_upstream = configured.profiles[0].args.reprieve.policy is Preset.UPSTREAM
    used = frozenset(_gates_used(cluster, manifests, resizes=resizes))
    gates, notes = _gates(choice.feature_gates, used, is_upstream=is_upstream)
    notes = [
        *(f"{choice.name or 'configuration of the cluster'}: {warning}." for warning in configured.warnings),
        *notes,
    ]
    if is_upstream and _nodes(cluster) > _SAMPLED_FROM:
        notes.append(
            f"With more than {_SAMPLED_FROM} nodes kube-scheduler looks at a sample of them: "
            "where several would do, it may choose another node and other victims."
        )
    settings = settings_of(configured, gates)
    if choice.measured is not None:
        settings = _measuring(settings, tuple(CRITERIA[name] for name in choice.measured))
    return InquirySettings(name, _with_resizes(settings) if resizes else settings, tuple(notes))


def exposure_of(
    cluster: DecodedCluster, settings: InquirySettings, shown: PodFilter, priority: int | None = None
) -> ExposureReport:
    """``priority``: only pods that a demand of it may ever preempt."""
    policy = next(iter(settings.settings.policies.values()), None)
    taken_at = cluster.source.taken_at
    limit = policy.eviction_limit if policy is not None else None
    view = running_view(cluster.seen)
    view = view if limit is None else with_evictions(view, cluster, taken_at)
    report = exposure_report(view, policy, taken_at, shown, priority)
    return replace(report, notes=(*cluster.notes, *settings.notes, *limit_notes(limit)))


def _measuring(settings: Settings, criteria: tuple[Criterion, ...]) -> Settings:
    """Measure what plans disturb by these criteria; without any, by ours if the policy is Upstream."""

    def measuring(policy: Policy) -> Policy:
        usual = DISTURBANCE if policy.disturbance == AS_UPSTREAM else ()
        return replace(policy, measured=criteria or usual)

    return replace(settings, policies={name: measuring(p) for name, p in settings.policies.items()})


def _document(choice: PolicyChoice, cluster: DecodedCluster) -> tuple[str, object]:
    if choice.document is None and not choice.name and cluster.source.configuration is not None:
        recorded = recorded_document(cluster.source.configuration)
        return "of the cluster", _with_args(recorded, _overrides(choice))
    return choice.name or str(Preset.REPRIEVE), policy_document(choice)


def policy_document(choice: PolicyChoice) -> object:
    """The configuration that a choice stands for, whatever the cluster."""
    overrides = _overrides(choice)
    if choice.document is not None:
        return _with_args(choice.document, overrides)
    name = choice.name or str(Preset.REPRIEVE)
    preset = str(Preset.REPRIEVE) if name in SEARCHES else name
    search = {"search": name} if name in SEARCHES else {}
    args = {"policy": preset, **overrides, **search}
    return {**_HEAD, "profiles": [{"pluginConfig": [{"name": "Reprieve", "args": args}]}]}


def _overrides(choice: PolicyChoice) -> Json:
    overrides: Json = {k: v for k, v in (("search", choice.search), ("budgets", choice.budgets)) if v}
    return {**overrides, "disturbance": list(choice.disturbance)} if choice.disturbance else overrides


def _with_args(document: object, overrides: Json) -> object:
    """Overrides hold in every profile."""
    return with_changed_args(document, lambda args: {**args, **overrides}) if overrides else document


# --- resizes without their gate ------------------------------------------------------------------

_FOR_THE_KUBELET = DeferredResizes(Accounting.KUBELET)


@dataclass(frozen=True, slots=True)
class KubeletResizes:
    """Whether a resize fits, where the scheduler evicts nothing for resizes."""

    because: str

    def is_waiting(self, pod: Pod) -> bool:
        return _FOR_THE_KUBELET.is_waiting(pod)

    def is_hopeless(self, pod: Pod) -> bool:
        return _FOR_THE_KUBELET.is_hopeless(pod)

    def forbidden(self, pod: Pod, node: Node) -> str:
        return self.because

    def demand(
        self, view: Snapshot, row: int, now: float, profile: Profile = DEFAULT_PROFILE
    ) -> tuple[Demand, Snapshot]:
        return _FOR_THE_KUBELET.demand(view, row, now, profile)


def _with_resizes(settings: Settings) -> Settings:
    off = KubeletResizes("the feature gate InPlacePodVerticalScalingSchedulerPreemption is off")
    policies = {
        name: policy if policy.resizes is not None else replace(policy, resizes=off)
        for name, policy in settings.policies.items()
    }
    return replace(settings, policies=policies)


# --- feature gates -------------------------------------------------------------------------------


def _gates(text: str, used: frozenset[str], *, is_upstream: bool) -> tuple[config.Gates, list[str]]:
    """kube-scheduler knows no preemption toleration: it is off for the policy Upstream unless it is named."""
    assumed = {"preemption_toleration": not is_upstream}
    assumed |= {name: True for name in sorted(used) if name != "preemption_toleration"}
    gates = config.parse_feature_gates(text, config.Gates(**assumed))
    usual = config.Gates()
    named = {item.partition("=")[0].strip() for item in text.split(",")}
    notes = [
        f"Assumed to be on, because the input uses it: feature gate {gate.encode_name}."
        for gate in fields(config.Gates)
        if gate.name in used and getattr(gates, gate.name) and not getattr(usual, gate.name)
        if gate.encode_name not in named
    ]
    if is_upstream and "preemption_toleration" in used and not gates.preemption_toleration:
        notes.append("Preemption tolerations of priority classes are ignored, as kube-scheduler does.")
    return gates, notes


def _gates_used(cluster: DecodedCluster, manifests: Iterable[Json], *, resizes: bool) -> Iterator[str]:
    if resizes or any(map(is_deferred, cluster.pods())):
        yield "in_place_pod_vertical_scaling_scheduler_preemption"
    bodies = [body for kind in _GROUP_KINDS for body in cluster.by_name.all(kind)]
    for body in (*bodies, *manifests):
        if text_in(body, "kind") in _GROUP_KINDS and text_in(body, "apiVersion").startswith(_GROUP_API):
            yield from _gates_of_group(body)
    classes = (one.object for one in cluster.seen if isinstance(one.object, PriorityClass))
    if any(map(protects_pods, classes)):
        yield "preemption_toleration"


def _gates_of_group(body: Json) -> Iterator[str]:
    """Topology constraints are a prerequisite of composite groups."""
    for spec in _specs(part(body, "spec")):
        if spec.get("preemptionPolicy"):
            yield "pod_group_preemption_policy"
        if spec.get("schedulingConstraints"):
            yield "topology_aware_workload_scheduling"
        is_composite = spec.get("parentCompositePodGroupName") or spec.get("compositePodGroupTemplates")
        if is_composite or text_in(body, "kind") == "CompositePodGroup":
            yield from ("topology_aware_workload_scheduling", "composite_pod_group")


def _specs(spec: Json) -> Iterator[Json]:
    yield spec
    for field in ("podGroupTemplates", "compositePodGroupTemplates"):
        for template in items(spec, field):
            yield from _specs(template)


def _nodes(cluster: DecodedCluster) -> int:
    return sum(type(one.object).__name__ == "Node" for one in cluster.seen)
