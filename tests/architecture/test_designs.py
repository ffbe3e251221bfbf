"""A design is one module: few others have heard of it."""

from tests.architecture.source import PACKAGE

DECIDING = ("placement", "preemption", "scheduler")
KNOW_OF_RESIZES = {
    "preemption/resize.py",
    "scheduler/object_changes.py",  # compares what a pod weighs while it is resized
    "scheduler/changes.py",  # knows which changes help
}


def test_few_have_heard_of_resizes() -> None:
    paths = [path for folder in DECIDING for path in sorted((PACKAGE / folder).rglob("*.py"))]
    found = {path.relative_to(PACKAGE).as_posix() for path in paths if "resiz" in path.read_text().lower()}
    assert found == KNOW_OF_RESIZES
