"""EndpointSlices follow the pods of a Service."""

from tests.minicluster.scene import Scene, node, pod, pod_key

from reprieve.model.json import Json
from reprieve_minicluster.store import Key

SERVICE: Json = {
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080, "protocol": "TCP"}]},
}
SLICES = "endpointslices.discovery.k8s.io"


def addresses(scene: Scene) -> dict[str, bool]:
    (found,) = scene.all(SLICES)
    return {one["targetRef"]["name"]: one["conditions"]["ready"] for one in found["endpoints"]}


def test_pods_come_and_go() -> None:
    scene = Scene()
    scene.add(node("n1"), SERVICE, pod("other", on="n1"))
    scene.pass_time(2)
    (empty,) = scene.all(SLICES)
    assert empty["metadata"]["labels"]["kubernetes.io/service-name"] == "web"
    assert empty["metadata"]["ownerReferences"][0]["kind"] == "Service"
    assert (empty["endpoints"], empty["ports"]) == ([], [{"name": "", "port": 8080, "protocol": "TCP"}])
    scene.add(pod("a", on="n1", labels={"app": "web"}), pod("b", on="n1", labels={"app": "web"}))
    scene.pass_time(3)
    assert addresses(scene) == {"a": True, "b": True}
    (there,) = scene.all(SLICES)
    assert there["endpoints"][0]["addresses"] == [scene.read(pod_key("a"))["status"]["podIP"]]
    scene.store.delete(pod_key("a"))
    scene.pass_time(0.5)
    assert addresses(scene) == {"a": False, "b": True}
    scene.pass_time(60)
    assert addresses(scene) == {"b": True}


def test_a_slice_goes_with_its_service() -> None:
    scene = Scene()
    scene.add(SERVICE)
    scene.pass_time(2)
    scene.store.delete(Key("services", "default", "web"))
    scene.pass_time(5)
    assert scene.all(SLICES) == []


def test_a_service_without_a_selector_has_none() -> None:
    scene = Scene()
    scene.add({**SERVICE, "spec": {"ports": [{"port": 80}]}})
    scene.pass_time(2)
    assert scene.all(SLICES) == []
