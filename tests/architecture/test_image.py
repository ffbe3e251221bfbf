"""What goes into the image is pinned as it is everywhere else, and names no place to get it from."""

import re
import tomllib

from tests.architecture.source import ROOT

DEPLOY = ROOT / "deploy"


def entries(lock: str) -> dict[str, str]:
    """Each package of a lock, with its version and hashes; the Python versions depend on the dependents."""
    text = re.sub(r"(?m)^#.*\n| ; .*(?= \\$)", "", lock)
    return {re.split(r"==", block)[0]: block for block in re.split(r"(?m)^(?=[a-z])", text) if block}


def test_the_lock_of_the_image_is_a_part_of_the_lock() -> None:
    every = entries((ROOT / "requirements-dev.lock").read_text())
    image = entries((ROOT / "requirements.lock").read_text())
    assert {name: every.get(name) for name in image} == image, "make lock"


def test_the_lock_of_the_image_has_what_the_package_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[<>=]", text)[0].lower() for text in project["dependencies"]}
    assert needed <= entries((ROOT / "requirements.lock").read_text()).keys()


def test_the_tag_is_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    tag = ".".join(version.split(".")[:2])
    assert f"image: reprieve:{tag}\n" in (DEPLOY / "base" / "deployment.yaml").read_text()


def test_images_have_plain_names() -> None:
    for line in re.findall(r"(?m)^FROM (\S+)", (DEPLOY / "Dockerfile").read_text()):
        assert "/" not in line
