"""A cluster for each module of tests, and a namespace in it for each test."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.up import Kubectl, checked_kubectl, cluster_up

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with cluster_up("--nodes", "3") as path:
        yield path


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    checked_kubectl()
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def kubectl(kubeconfig: Path, home: Path) -> Kubectl:
    name = f"test-{next(_NUMBERS)}"
    Kubectl(kubeconfig, home).apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return Kubectl(kubeconfig, home, name)
