"""What is left of a pod once its spec is compiled."""

from typing import Any

import pytest
from tests.unit.model.things import a_pod, container, sidecar

from reprieve.model.columns import Relation
from reprieve.model.json import Json
from reprieve.model.pod_compilation import compile_pod
from reprieve.model.pods import holders
from reprieve.model.selectors import NOTHING, Operator, Requirement, Selector
from reprieve.model.shape import ANY_ADDRESS, HostPort, InlineDisk, Shape

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def shape_of(**fields: Any) -> Shape:
    compiled = compile_pod(a_pod(**fields))
    assert compiled.problems == ()
    return compiled.shape


def exactly(**labels: str) -> Selector:
    return Selector(tuple(Requirement(k, Operator.IN, frozenset({v})) for k, v in sorted(labels.items())))


def test_pods_of_one_template_have_one_shape() -> None:
    one = compile_pod(a_pod("p1", labels={"a": "1", "b": "2"}, containers=[container(cpu="1")]))
    two = compile_pod(a_pod("p2", on="n", labels={"b": "2", "a": "1"}, containers=[container(cpu="1000m")]))
    assert one.shape == two.shape
    assert hash(one.shape) == hash(two.shape)


@pytest.mark.parametrize(
    "other",
    [
        {"labels": {"a": "2"}},
        {"containers": [container(cpu="2345m")]},
        {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "mine"}}]},
        {"volumes": [{"name": "data", "ephemeral": {}}]},
        {"nodeSelector": {"disk": "ssd"}},
    ],
    ids=["labels", "requests", "a claim", "a claim of its own", "nodes"],
)
def test_pods_that_differ_in_what_is_compiled_have_different_shapes(other: Json) -> None:
    usual: Json = {"labels": {"a": "1"}, "containers": [container(cpu="1234m")]}
    one, two = compile_pod(a_pod("p1", **usual)), compile_pod(a_pod("p2", **{**usual, **other}))
    assert one.shape != two.shape
    assert compile_pod(a_pod("p3", on="n", **usual)).shape is one.shape


# --- ports ---------------------------------------------------------------------------------------


def with_port(one: Json, **port: Any) -> Json:
    return one | {"ports": [{"containerPort": 80, **port}]}


def test_host_ports_of_containers_and_sidecars_count() -> None:
    shape = shape_of(
        containers=[with_port(container("c"), hostPort=80, protocol="UDP", hostIP="10.0.0.1")],
        initContainers=[with_port(sidecar("s"), hostPort=81), with_port(container("i"), hostPort=82)],
    )
    assert shape.ports == (HostPort("TCP", ANY_ADDRESS, 81), HostPort("UDP", "10.0.0.1", 80))


# --- affinity and spread -------------------------------------------------------------------------


def pod_term(**fields: Any) -> Json:
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, **fields}


def anti_affinity(*terms: Json) -> Json:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def test_a_term_looks_into_the_pods_own_namespace_unless_it_says_otherwise() -> None:
    own, listed, selected = shape_of(
        affinity=anti_affinity(
            pod_term(),
            pod_term(namespaces=["blue"]),
            pod_term(namespaceSelector={"matchLabels": {"team": "a"}}),
        )
    ).anti_affinity
    assert (own.namespaces, own.namespace_selector) == (frozenset({"default"}), NOTHING)
    assert (listed.namespaces, listed.namespace_selector) == (frozenset({"blue"}), NOTHING)
    assert (selected.namespaces, selected.namespace_selector) == (frozenset(), exactly(team="a"))


def test_label_keys_become_requirements_with_the_pods_own_values() -> None:
    term = pod_term(matchLabelKeys=["hash", "absent"], mismatchLabelKeys=["tenant"])
    (compiled,) = shape_of(labels={"hash": "x1", "tenant": "t"}, affinity=anti_affinity(term)).anti_affinity
    assert compiled.selector == exactly(app="web", hash="x1").narrowed(
        [Requirement("tenant", Operator.NOT_IN, frozenset({"t"}))]
    )


def test_label_keys_the_api_server_has_already_written_are_left_as_they_are() -> None:
    expressions = [{"key": "hash", "operator": "In", "values": ["old"]}]
    term = pod_term(labelSelector={"matchExpressions": expressions}, matchLabelKeys=["hash"])
    (compiled,) = shape_of(labels={"hash": "new"}, affinity=anti_affinity(term)).anti_affinity
    assert compiled.selector == exactly(hash="old")


def test_a_spread_rule_with_its_defaults() -> None:
    constraint = {"topologyKey": "zone", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}
    (rule,) = shape_of(topologySpreadConstraints=[constraint]).spread
    assert (rule.topology_key, rule.max_skew, rule.required, rule.min_domains) == ("zone", 2, True, 1)
    assert (rule.honors_affinity, rule.honors_taints) == (True, False)
    assert rule.selector == NOTHING


# --- volumes, images, features -------------------------------------------------------------------


def test_images_carry_their_tag() -> None:
    names = ["db", "registry:5000/db", "web:1", "web@sha256:00"]
    containers = [{"name": f"c{i}", "image": name} for i, name in enumerate(names)]
    assert shape_of(containers=containers).images == (
        "db:latest",
        "registry:5000/db:latest",
        "web:1",
        "web@sha256:00",
    )


@pytest.mark.parametrize(
    ("one", "other", "conflicts"),
    [
        (InlineDisk("gce", frozenset("a"), True), InlineDisk("gce", frozenset("a"), True), False),
        (InlineDisk("gce", frozenset("a"), True), InlineDisk("gce", frozenset("a"), False), True),
        (InlineDisk("gce", frozenset("a"), False), InlineDisk("gce", frozenset("b"), False), False),
        (InlineDisk("gce", frozenset("a"), False), InlineDisk("rbd", frozenset("a"), False), False),
        (
            InlineDisk("ebs", frozenset("a"), True, False),
            InlineDisk("ebs", frozenset("a"), True, False),
            True,
        ),
    ],
)
def test_when_disks_conflict(one: InlineDisk, other: InlineDisk, conflicts: bool) -> None:
    assert one.conflicts_with(other) is conflicts
    found = holders(Relation.of([]), Relation.of([(3, one)]))
    assert found.of_disk(other).tolist() == [3] * conflicts


def test_features_a_pod_cannot_do_without() -> None:
    rules = [{"action": "RestartAllContainers"}]
    mounts = [{"name": "v", "bindMountOptions": ["noexec"]}]
    demanding = {"name": "c", "restartPolicyRules": rules, "volumeMounts": mounts}
    shape = shape_of(containers=[demanding], hostNetwork=True, hostUsers=False)
    assert shape.features == {
        "RestartAllContainersOnContainerExits",
        "UserNamespacesHostNetworkSupport",
        "VolumeBindMountOptions",
    }
    assert shape_of(hostNetwork=True).features == frozenset()


# --- what is malformed ---------------------------------------------------------------------------

SKEW = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"containers": [container(cpu="much")]}, "spec.containers[0].resources.requests.cpu"),
        ({"initContainers": [container(cpu="-1")]}, "spec.initContainers[0].resources.requests.cpu"),
        ({"overhead": {"cpu": "x"}}, "spec.overhead.cpu"),
        ({"resources": {"requests": {"cpu": "x"}}}, "spec.resources.requests.cpu"),
        ({"containers": [with_port(container(), hostPort=70000)]}, "spec.containers[0].ports[0].hostPort"),
        ({"containers": [with_port(container(), hostPort=-1)]}, "spec.containers[0].ports[0].hostPort"),
        (
            {"containers": [with_port(container(), hostPort=1, protocol="ICMP")]},
            "spec.containers[0].ports[0].protocol",
        ),
        (
            {"containers": [with_port(container(), hostPort=1, hostIP="me")]},
            "spec.containers[0].ports[0].hostIP",
        ),
        ({"tolerations": [{"operator": "Near", "key": "k"}]}, "spec.tolerations[0].operator"),
        ({"affinity": anti_affinity({})}, f"spec.affinity.podAntiAffinity.{REQUIRED}[0].topologyKey"),
        ({"topologySpreadConstraints": [SKEW | {"maxSkew": 0}]}, "spec.topologySpreadConstraints[0].maxSkew"),
        (
            {"topologySpreadConstraints": [SKEW | {"topologyKey": ""}]},
            "spec.topologySpreadConstraints[0].topologyKey",
        ),
        (
            {"topologySpreadConstraints": [SKEW | {"minDomains": 0}]},
            "spec.topologySpreadConstraints[0].minDomains",
        ),
        (
            {"topologySpreadConstraints": [SKEW | {"whenUnsatisfiable": "Maybe"}]},
            "spec.topologySpreadConstraints[0].whenUnsatisfiable",
        ),
        (
            {"topologySpreadConstraints": [SKEW | {"nodeTaintsPolicy": "Maybe"}]},
            "spec.topologySpreadConstraints[0].nodeTaintsPolicy",
        ),
    ],
)
def test_a_malformed_part_is_reported_by_its_path_and_the_rest_is_kept(fields: Json, path: str) -> None:
    compiled = compile_pod(a_pod(labels={"app": "web"}, **fields))
    assert [problem.path for problem in compiled.problems] == [path]
    assert str(compiled.problems[0]).startswith(f"Pod default/p: {path}: expected ")
    assert compiled.shape.labels == (("app", "web"),)
    assert ("pods", 1) in compiled.shape.requests
