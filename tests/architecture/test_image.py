"""What goes into the image is pinned as it is everywhere else, and names no place to get it from."""

import re
import tomllib
from typing import Any

from tests.architecture.source import ROOT

DEPLOY = ROOT / "deploy"
DISTRIBUTIONS = ("reprieve", "reprieve-minicluster", "reprieve-study")


def entries(lock: str) -> dict[str, str]:
    """Each package of a lock, with its version and hashes; the Python versions depend on the dependents."""
    text = re.sub(r"(?m)^#.*\n| ; .*(?= \\$)", "", lock)
    return {re.split(r"==", block)[0]: block for block in re.split(r"(?m)^(?=[a-z])", text) if block}


def test_the_lock_of_the_image_is_a_part_of_the_lock() -> None:
    every = entries((ROOT / "requirements-dev.lock").read_text())
    image = entries((ROOT / "requirements.lock").read_text())
    assert {name: every.get(name) for name in image} == image, "make lock"


def project(distribution: str) -> dict[str, Any]:
    text = (ROOT / "packages" / distribution / "pyproject.toml").read_text()
    found: dict[str, Any] = tomllib.loads(text)["project"]
    return found


def test_the_lock_of_the_image_has_what_the_scheduler_needs() -> None:
    needed = {re.split(r"[<>=]", text)[0].lower() for text in project("reprieve")["dependencies"]}
    assert needed <= entries((ROOT / "requirements.lock").read_text()).keys()


def test_the_lock_has_what_all_distributions_can_use() -> None:
    projects = [project(name) for name in DISTRIBUTIONS]
    extras = [
        text
        for found in projects
        for extra in found.get("optional-dependencies", {}).values()
        for text in extra
    ]
    texts = [text for found in projects for text in found["dependencies"]] + extras
    needed = {re.split(r"[<>=]", text)[0].lower() for text in texts} - set(DISTRIBUTIONS)
    assert needed <= entries((ROOT / "requirements-dev.lock").read_text()).keys()


def test_the_distributions_have_one_version_and_need_each_other_in_it() -> None:
    version = project("reprieve")["version"]
    assert {project(name)["version"] for name in DISTRIBUTIONS} == {version}
    for other in DISTRIBUTIONS[1:]:
        assert f"reprieve=={version}" in project(other)["dependencies"]
    assert project("reprieve")["optional-dependencies"]["all"] == [
        f"{name}=={version}" for name in DISTRIBUTIONS[1:]
    ]


def test_the_tag_is_the_version() -> None:
    tag = ".".join(project("reprieve")["version"].split(".")[:2])
    assert f"image: reprieve:{tag}\n" in (DEPLOY / "base" / "deployment.yaml").read_text()


def test_the_image_has_the_scheduler_alone() -> None:
    copied = re.findall(r"(?m)^COPY (packages/\S+)", (DEPLOY / "Dockerfile").read_text())
    assert copied == ["packages/reprieve"]


def test_images_have_plain_names() -> None:
    for line in re.findall(r"(?m)^FROM (\S+)", (DEPLOY / "Dockerfile").read_text()):
        assert "/" not in line
