"""Every namespace has a copy of the certificate by which pods trust the API server."""

import pytest
from tests.minicluster.scene import Scene

from reprieve_minicluster.controllers.small_controllers import CONFIG_MAP, root_ca
from reprieve_minicluster.store import Key


@pytest.fixture
def scene() -> Scene:
    made = Scene()
    for name in ("kube-system", "default"):
        made.add({"kind": "Namespace", "metadata": {"name": name}})
    return made


def copies(scene: Scene) -> dict[str, str]:
    maps = [m for m in scene.all("configmaps") if m["metadata"]["name"] == CONFIG_MAP]
    return {m["metadata"]["namespace"]: m["data"]["ca.crt"] for m in maps}


def test_without_a_certificate_there_is_none(scene: Scene) -> None:
    scene.pass_time(1)
    assert copies(scene) == {}


def test_namespaces_get_one_that_were_there_before_and_that_come_later(scene: Scene) -> None:
    scene.add(root_ca("PEM"))
    scene.pass_time(1)
    scene.add({"kind": "Namespace", "metadata": {"name": "team"}})
    scene.pass_time(1)
    assert copies(scene) == {"kube-system": "PEM", "default": "PEM", "team": "PEM"}


def test_a_copy_that_is_deleted_or_changed_is_restored(scene: Scene) -> None:
    scene.add(root_ca("PEM"), {"kind": "Namespace", "metadata": {"name": "team"}})
    scene.pass_time(1)
    scene.store.delete(Key("configmaps", "default", CONFIG_MAP))
    scene.write(Key("configmaps", "team", CONFIG_MAP), data={"ca.crt": "forged"})
    scene.pass_time(1)
    assert copies(scene) == {"kube-system": "PEM", "default": "PEM", "team": "PEM"}


def test_a_new_certificate_reaches_all_copies(scene: Scene) -> None:
    scene.add(root_ca("PEM"))
    scene.pass_time(1)
    scene.write(Key("configmaps", "kube-system", CONFIG_MAP), data={"ca.crt": "new"})
    scene.pass_time(1)
    assert copies(scene) == {"kube-system": "new", "default": "new"}


def test_a_namespace_that_is_being_deleted_gets_none(scene: Scene) -> None:
    scene.add({"kind": "Namespace", "metadata": {"name": "gone", "finalizers": ["example.com/wait"]}})
    scene.store.delete(Key("namespaces", "", "gone"))
    scene.add(root_ca("PEM"))
    scene.pass_time(1)
    assert "gone" not in copies(scene)
