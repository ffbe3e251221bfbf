"""Paths, plurals and versions."""

from reprieve.cluster.kube.rest_mapping import CANDIDATES


def test_plurals() -> None:
    assert {places[0].plural for places in CANDIDATES.values()} == {
        *("pods", "nodes", "namespaces", "services", "replicationcontrollers"),
        *("persistentvolumes", "persistentvolumeclaims"),
        *("replicasets", "statefulsets", "poddisruptionbudgets", "priorityclasses"),
        *("storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"),
        *("podgroups", "compositepodgroups"),
    }


def test_groups_in_the_newest_version_and_our_own_last() -> None:
    assert [place.api_version for place in CANDIDATES["PodGroup"]] == [
        "scheduling.k8s.io/v1beta1",
        "scheduling.k8s.io/v1alpha3",
        "scheduling.k8s.io/v1alpha2",
        "reprieve.dev/v1alpha1",
    ]


def test_paths() -> None:
    (pods,), (nodes,) = CANDIDATES["Pod"], CANDIDATES["Node"]
    assert pods.path() == "/api/v1/pods"
    assert pods.path("team", "web", "status") == "/api/v1/namespaces/team/pods/web/status"
    assert nodes.path("", "n1") == "/api/v1/nodes/n1"
    assert (
        CANDIDATES["PodDisruptionBudget"][0].path("team")
        == "/apis/policy/v1/namespaces/team/poddisruptionbudgets"
    )
