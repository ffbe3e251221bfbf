"""A pod's spec, compiled once into a shape.

Compiling finds everything that is malformed or beyond a bound. A shape itself is always sound, with these
parts left out, so that a running pod that is malformed still counts as load.

Bounds are needed since a user with the right to create pods may fill their lists up to the size limit of an
object, and every decision would pay for that. A pod beyond a bound stays pending, with an event that names
the field.
"""

from collections.abc import Iterable, Iterator, Sized
from ipaddress import ip_address
from itertools import chain, islice
from typing import TypeVar

from msgspec.structs import replace

from reprieve.model.csi_migration import Attachment, migrated_disk
from reprieve.model.footprint import Footprint, footprint, weighs_as_written
from reprieve.model.objects import (
    Affinity,
    Container,
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
    Volume,
    ref_of,
)
from reprieve.model.resources import PODS, STANDARD, Problems
from reprieve.model.selectors import (
    NOTHING,
    NodeQuery,
    Operator,
    Requirement,
    Selector,
    check_tolerations,
    compile_node_selector,
    compile_node_term,
    compile_selector,
)
from reprieve.model.shape import (
    ANY_ADDRESS,
    CompiledPod,
    HostPort,
    InlineDisk,
    PodTerm,
    Shape,
    SpreadRule,
    WeightedNodeTerm,
    WeightedPodTerm,
)
from reprieve.model.sized_cache import Templates, controller_of, template_of

T = TypeVar("T")

# Each is several times what real pods have. The reasons say what one entry costs in a decision.
MOST_CONTAINERS = 1_000  # each is added up, and its image looked up
MOST_RESOURCES = 100  # a resource that one pod names gets a column for all pods and nodes
MOST_PORTS = 1_000  # each is looked up among the ports held, and may reject nodes for a reason of its own
MOST_TOLERATIONS = 1_000  # each is compared with every distinct taint
MOST_TERMS = 100  # a term reads all pods or all nodes, and those of other pods are read, too
MOST_SPREAD_RULES = 100  # a rule counts the pods in all domains
MOST_REQUIREMENTS = 100  # in a selector or term; each reads all pods or all nodes
MOST_REQUIREMENTS_IN_ALL = 1_000  # in all terms and constraints of a pod together, for the same reason
MOST_VALUES = 5_000  # of a requirement; each is looked up. As many as the nodes of a large cluster
MOST_NAMESPACES = 1_000  # of a term; each is looked up
MOST_GATES = 1_000  # compared with every change of the pod
MOST_VOLUMES = 1_000  # each is followed to its claim and volume
MOST_DISKS = 100  # volumes that name a disk; each is compared with those that share an identifier


def within(things: Iterable[T], most: int, what: str, path: str, problems: Problems) -> tuple[T, ...]:
    """The things up to the bound; more are reported."""
    found = tuple(things)
    is_bounded(len(found), most, what, path, problems)
    return found[:most]


def is_bounded(count: int, most: int, what: str, path: str, problems: Problems) -> bool:
    if count > most:
        problems.add(path, f"{count} {what}, at most {most} are supported by this scheduler")
    return count <= most


def selector_is_bounded(selector: LabelSelector | None, path: str, problems: Problems) -> bool:
    if selector is None:
        return True
    count = len(selector.match_labels) + len(selector.match_expressions)
    values = max((len(e.values) for e in selector.match_expressions), default=0)
    return is_bounded(count, MOST_REQUIREMENTS, "requirements", path, problems) and is_bounded(
        values, MOST_VALUES, "values in a requirement", f"{path}.matchExpressions", problems
    )


def bounded_node_term(term: NodeSelectorTerm, path: str, problems: Problems) -> NodeSelectorTerm:
    """The term itself, or beyond a bound an empty one, which selects no node."""
    count = len(term.match_expressions) + len(term.match_fields)
    values = max((len(e.values) for e in chain(term.match_expressions, term.match_fields)), default=0)
    bounded = is_bounded(count, MOST_REQUIREMENTS, "requirements", path, problems) and is_bounded(
        values, MOST_VALUES, "values in a requirement", f"{path}.matchExpressions", problems
    )
    return term if bounded else NodeSelectorTerm()


def bounded_node_selector(
    selector: NodeSelector | None, path: str, problems: Problems
) -> NodeSelector | None:
    if selector is None:
        return None
    path = f"{path}.nodeSelectorTerms"
    terms = within(selector.node_selector_terms, MOST_TERMS, "terms", path, problems)
    bounded = tuple(bounded_node_term(term, f"{path}[{i}]", problems) for i, term in enumerate(terms))
    return NodeSelector(node_selector_terms=bounded)


_PROTOCOLS = ("TCP", "UDP", "SCTP")
_HIGHEST_PORT = 65535

_remembered: Templates[CompiledPod] = Templates()  # one pod of each template


def compile_pod(pod: Pod) -> CompiledPod:
    """Pods of one template share one shape, which is compiled once."""
    if not weighs_as_written(pod) or any(volume.ephemeral is not None for volume in pod.spec.volumes):
        return _compiled(pod)
    template = template_of(pod)
    known = _remembered.get(template)
    if known is not None:
        return CompiledPod(pod, known.weight, known.shape, ())
    compiled = _compiled(pod)
    if not compiled.problems:  # a malformed pod is not cached: its problems are reported each time
        _remembered.put(template, compiled)
    return compiled


def _compiled(pod: Pod) -> CompiledPod:
    problems = Problems(ref_of(pod))
    weight = footprint(pod, problems)
    count, what = sum(map(len, _requirements(pod.spec))), "requirements in all terms and constraints"
    kept = pod
    if not is_bounded(count, MOST_REQUIREMENTS_IN_ALL, what, "spec", problems):
        sound = replace(pod.spec, affinity=Affinity(), topology_spread_constraints=())
        kept = replace(pod, spec=sound)
    return CompiledPod(pod, weight, _shape(kept, weight, problems), problems.all())


def _requirements(spec: PodSpec) -> Iterator[Sized]:
    """The lists and mappings with the requirements of all its selectors."""
    nodes = spec.affinity.node_affinity
    required_nodes = nodes.required_during_scheduling_ignored_during_execution
    preferred_nodes = nodes.preferred_during_scheduling_ignored_during_execution
    for node_term in chain(
        required_nodes.node_selector_terms if required_nodes is not None else (),
        (weighted.preference for weighted in preferred_nodes),
    ):
        yield from (node_term.match_expressions, node_term.match_fields)
    selectors = [constraint.label_selector for constraint in spec.topology_spread_constraints]
    yield from (constraint.match_label_keys for constraint in spec.topology_spread_constraints)
    for affinity in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
        weighted = affinity.preferred_during_scheduling_ignored_during_execution
        required = affinity.required_during_scheduling_ignored_during_execution
        for term in chain(required, (one.pod_affinity_term for one in weighted)):
            yield from (term.match_label_keys, term.mismatch_label_keys)
            selectors += [term.label_selector, term.namespace_selector]
    for selector in filter(None, selectors):
        yield from (selector.match_labels, selector.match_expressions)


def _shape(pod: Pod, weight: Footprint, problems: Problems) -> Shape:
    spec = pod.spec
    labels = pod.metadata.labels
    affinity = spec.affinity
    tolerations = within(spec.tolerations, MOST_TOLERATIONS, "tolerations", "spec.tolerations", problems)
    disks = (disk for volume in spec.volumes for disk in _disks(volume))
    within(spec.scheduling_gates, MOST_GATES, "gates", "spec.schedulingGates", problems)
    within(_containers(pod), MOST_CONTAINERS, "containers", "spec.containers", problems)
    return Shape(
        namespace=pod.metadata.namespace,
        labels=tuple(sorted(labels.items())),
        requests=_requests(weight, problems),
        nonzero_cpu=weight.nonzero_cpu,
        nonzero_memory=weight.nonzero_memory,
        nodes=_node_query(pod, problems),
        preferred_nodes=_preferred_nodes(pod, problems),
        tolerations=check_tolerations(tolerations, "spec.tolerations", problems),
        ports=_host_ports(pod, problems),
        affinity=_required(pod, affinity.pod_affinity, "podAffinity", problems),
        anti_affinity=_required(pod, affinity.pod_anti_affinity, "podAntiAffinity", problems),
        preferred_pods=(
            *_preferred(pod, affinity.pod_affinity, "podAffinity", 1, problems),
            *_preferred(pod, affinity.pod_anti_affinity, "podAntiAffinity", -1, problems),
        ),
        spread=_spread_rules(pod, problems),
        claims=within(dict.fromkeys(_claims(pod)), MOST_VOLUMES, "claims", "spec.volumes", problems),
        ephemeral_claims=frozenset(_ephemeral_claims(pod)),
        disks=within(disks, MOST_DISKS, "inline disks", "spec.volumes", problems),
        inline_volumes=within(_inline_volumes(pod), MOST_DISKS, "inline volumes", "spec.volumes", problems),
        images=tuple(map(_tagged, islice(_images(pod), MOST_CONTAINERS))),
        features=frozenset(_features(pod)),
        owner_uid=controller_of(pod),
    )


def _requests(weight: Footprint, problems: Problems) -> tuple[tuple[str, int], ...]:
    charged = {**weight.charged, PODS: 1}
    # Those that every node has come first, so that they count in any case.
    first = sorted(charged, key=lambda name: (name not in STANDARD, name))
    kept = within(first, MOST_RESOURCES, "resources", "spec.containers[*].resources.requests", problems)
    return tuple((name, charged[name]) for name in sorted(kept))


def _containers(pod: Pod) -> Iterator[Container]:
    yield from pod.spec.init_containers
    yield from pod.spec.containers


def _images(pod: Pod) -> Iterator[str]:
    """Every image that the pod needs; nodes list images with their tags."""
    yield from (container.image for container in _containers(pod))
    yield from (v.image.reference for v in pod.spec.volumes if v.image is not None)


def _tagged(image: str) -> str:
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


# --- nodes ---------------------------------------------------------------------------------------


def _node_query(pod: Pod, problems: Problems) -> NodeQuery:
    labels = sorted(pod.spec.node_selector.items())
    kept = within(labels, MOST_REQUIREMENTS, "labels", "spec.nodeSelector", problems)
    exact = (Requirement(k, Operator.IN, frozenset({v})) for k, v in kept)
    required = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
    bounded = bounded_node_selector(required, path, problems)
    return NodeQuery(tuple(exact), compile_node_selector(bounded, path, problems))


def _preferred_nodes(pod: Pod, problems: Problems) -> tuple[WeightedNodeTerm, ...]:
    preferred = pod.spec.affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
    path = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    kept = within(preferred, MOST_TERMS, "terms", path, problems)
    bounded = (
        replace(
            weighted, preference=bounded_node_term(weighted.preference, f"{path}[{i}].preference", problems)
        )
        for i, weighted in enumerate(kept)
    )
    return compile_preferred_nodes(bounded, path, problems)


def compile_preferred_nodes(
    preferred: Iterable[PreferredSchedulingTerm], path: str, problems: Problems
) -> tuple[WeightedNodeTerm, ...]:
    terms = []
    for i, weighted in enumerate(preferred):
        term = compile_node_term(weighted.preference, f"{path}[{i}].preference", problems)
        # An empty preference would match every node: it does not count.
        if term is not None and weighted.weight:
            terms.append(WeightedNodeTerm(weighted.weight, term))
    return tuple(terms)


def _features(pod: Pod) -> Iterator[str]:
    """The declared node features that the spec needs."""
    containers = list(_containers(pod))
    rules = (rule for c in containers for rule in c.restart_policy_rules)
    if any(rule.action == "RestartAllContainers" for rule in rules):
        yield "RestartAllContainersOnContainerExits"
    if pod.spec.host_network and pod.spec.host_users is False:
        yield "UserNamespacesHostNetworkSupport"
    if any(mount.bind_mount_options for c in containers for mount in c.volume_mounts):
        yield "VolumeBindMountOptions"


# --- ports ---------------------------------------------------------------------------------------


def _host_ports(pod: Pod, problems: Problems) -> tuple[HostPort, ...]:
    """Host ports of containers and sidecars; those of other init containers do not count."""
    found: dict[HostPort, None] = {}
    for path, container in _running_together(pod):
        room = len(found) <= MOST_PORTS
        found.update(dict.fromkeys(_ports_of(container, path, problems)))
        if room:  # the first container beyond the bound is named
            is_bounded(len(found), MOST_PORTS, "host ports", f"{path}.ports", problems)
    return tuple(islice(found, MOST_PORTS))


def _running_together(pod: Pod) -> Iterator[tuple[str, Container]]:
    for i, container in enumerate(pod.spec.init_containers):
        if container.restart_policy == "Always":
            yield f"spec.initContainers[{i}]", container
    for i, container in enumerate(pod.spec.containers):
        yield f"spec.containers[{i}]", container


def _ports_of(container: Container, path: str, problems: Problems) -> Iterator[HostPort]:
    for i, port in enumerate(container.ports):
        if not port.host_port:
            continue
        where = f"{path}.ports[{i}]"
        if not 0 < port.host_port <= _HIGHEST_PORT:
            expected = f"expected a port from 1 to {_HIGHEST_PORT}, got {port.host_port}"
            problems.add(f"{where}.hostPort", expected)
        elif port.protocol not in _PROTOCOLS:
            problems.add(f"{where}.protocol", f"expected TCP, UDP or SCTP, got {port.protocol!r}")
        elif port.host_ip and not _is_address(port.host_ip):
            problems.add(f"{where}.hostIP", f"expected an IP address, got {port.host_ip!r}")
        else:
            yield HostPort(port.protocol, port.host_ip or ANY_ADDRESS, port.host_port)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


# --- other pods ----------------------------------------------------------------------------------

_AFFINITY = "spec.affinity"


def _required(pod: Pod, affinity: PodAffinity, name: str, problems: Problems) -> tuple[PodTerm, ...]:
    terms = affinity.required_during_scheduling_ignored_during_execution
    if not terms:
        return ()
    path = f"{_AFFINITY}.{name}.requiredDuringSchedulingIgnoredDuringExecution"
    kept = within(terms, MOST_TERMS, "terms", path, problems)
    return tuple(_pod_term(pod, t, f"{path}[{i}]", problems) for i, t in enumerate(kept))


def _preferred(
    pod: Pod, affinity: PodAffinity, name: str, sign: int, problems: Problems
) -> Iterator[WeightedPodTerm]:
    path = f"{_AFFINITY}.{name}.preferredDuringSchedulingIgnoredDuringExecution"
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    for i, weighted in enumerate(within(preferred, MOST_TERMS, "terms", path, problems)):
        term = _pod_term(pod, weighted.pod_affinity_term, f"{path}[{i}].podAffinityTerm", problems)
        yield WeightedPodTerm(sign * weighted.weight, term)


def _pod_term(pod: Pod, term: PodAffinityTerm, path: str, problems: Problems) -> PodTerm:
    if not term.topology_key:
        problems.add(f"{path}.topologyKey", "expected a node label key")
    selector = _selector(term.label_selector, f"{path}.labelSelector", problems)
    own_only = not term.namespaces and term.namespace_selector is None
    named = within(term.namespaces, MOST_NAMESPACES, "namespaces", f"{path}.namespaces", problems)
    same, other = _label_keys(term.match_label_keys, path, problems), term.mismatch_label_keys
    other = within(other, MOST_REQUIREMENTS, "keys", f"{path}.mismatchLabelKeys", problems)
    return PodTerm(
        selector=_with_label_keys(pod, selector, same, other),
        namespaces=frozenset({pod.metadata.namespace} if own_only else named),
        namespace_selector=_selector(term.namespace_selector, f"{path}.namespaceSelector", problems),
        topology_key=term.topology_key,
    )


def _selector(selector: LabelSelector | None, path: str, problems: Problems) -> Selector:
    if not selector_is_bounded(selector, path, problems):
        return NOTHING
    return compile_selector(selector, path, problems)


def _label_keys(keys: tuple[str, ...], path: str, problems: Problems) -> tuple[str, ...]:
    return within(keys, MOST_REQUIREMENTS, "keys", f"{path}.matchLabelKeys", problems)


def _with_label_keys(
    pod: Pod, selector: Selector, same: Iterable[str], other: Iterable[str] = ()
) -> Selector:
    """Adds the pod's own values of matchLabelKeys and mismatchLabelKeys as requirements.

    The API server does the same when it creates a pod; those it wrote then stay valid when the pod's labels
    change later.
    """
    if selector == NOTHING:
        return selector
    labels = pod.metadata.labels
    written = {(r.key, r.operator) for r in selector.requirements}
    wanted = [(key, Operator.IN) for key in same] + [(key, Operator.NOT_IN) for key in other]
    return selector.narrowed(
        Requirement(key, operator, frozenset({labels[key]}))
        for key, operator in wanted
        if key in labels and (key, operator) not in written
    )


def _spread_rules(pod: Pod, problems: Problems) -> tuple[SpreadRule, ...]:
    rules = []
    constraints, name = pod.spec.topology_spread_constraints, "spec.topologySpreadConstraints"
    for i, constraint in enumerate(within(constraints, MOST_SPREAD_RULES, "constraints", name, problems)):
        path = f"{name}[{i}]"
        wrong = _wrong_spread(constraint)
        if wrong:
            problems.add(f"{path}.{wrong[0]}", wrong[1])
        else:
            rules.append(_spread_rule(pod, constraint, path, problems))
    return tuple(rules)


def _wrong_spread(constraint: TopologySpreadConstraint) -> tuple[str, str] | None:
    policies = ("Honor", "Ignore")
    if constraint.max_skew < 1:
        return "maxSkew", f"expected a number above zero, got {constraint.max_skew}"
    if not constraint.topology_key:
        return "topologyKey", "expected a node label key"
    if constraint.when_unsatisfiable not in ("DoNotSchedule", "ScheduleAnyway"):
        got = constraint.when_unsatisfiable
        return "whenUnsatisfiable", f"expected DoNotSchedule or ScheduleAnyway, got {got!r}"
    if constraint.min_domains is not None and constraint.min_domains < 1:
        return "minDomains", f"expected a number above zero, got {constraint.min_domains}"
    if constraint.node_affinity_policy not in policies:
        got = constraint.node_affinity_policy
        return "nodeAffinityPolicy", f"expected Honor or Ignore, got {got!r}"
    if constraint.node_taints_policy not in policies:
        got = constraint.node_taints_policy
        return "nodeTaintsPolicy", f"expected Honor or Ignore, got {got!r}"
    return None


def _spread_rule(pod: Pod, constraint: TopologySpreadConstraint, path: str, problems: Problems) -> SpreadRule:
    selector = _selector(constraint.label_selector, f"{path}.labelSelector", problems)
    return SpreadRule(
        topology_key=constraint.topology_key,
        max_skew=constraint.max_skew,
        selector=_with_label_keys(pod, selector, _label_keys(constraint.match_label_keys, path, problems)),
        required=constraint.when_unsatisfiable == "DoNotSchedule",
        min_domains=constraint.min_domains or 1,
        honors_affinity=constraint.node_affinity_policy == "Honor",
        honors_taints=constraint.node_taints_policy == "Honor",
    )


# --- volumes -------------------------------------------------------------------------------------


def _claims(pod: Pod) -> Iterator[str]:
    """Names of the claims that the pod mounts, in the order of its volumes."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            yield _ephemeral_claim(pod, volume)


def _ephemeral_claims(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is None and volume.ephemeral is not None:
            yield _ephemeral_claim(pod, volume)


def _ephemeral_claim(pod: Pod, volume: Volume) -> str:
    """A generic ephemeral volume has a claim of its own, named after the pod."""
    return f"{pod.metadata.name}-{volume.name}"


def _inline_volumes(pod: Pod) -> Iterator[Attachment]:
    """Inline in-tree volumes that a CSI driver attaches."""
    for volume in pod.spec.volumes:
        disk = migrated_disk(volume, {})
        if disk is not None and disk.attachment is not None:
            yield disk.attachment


def _disks(volume: Volume) -> Iterator[InlineDisk]:
    if (gce := volume.gce_persistent_disk) is not None:
        yield InlineDisk("gce", frozenset({gce.pd_name}), gce.read_only)
    if (ebs := volume.aws_elastic_block_store) is not None:
        yield InlineDisk("ebs", frozenset({ebs.volume_id}), ebs.read_only, shareable=False)
    if (iscsi := volume.iscsi) is not None:
        yield InlineDisk("iscsi", frozenset({iscsi.iqn}), iscsi.read_only)
    if (rbd := volume.rbd) is not None:
        ids = frozenset(f"{m}/{rbd.pool}/{rbd.image}" for m in rbd.monitors)
        yield InlineDisk("rbd", ids, rbd.read_only)
