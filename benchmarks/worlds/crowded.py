"""Large crowded clusters, as `make_world.py` makes them from a seed.

The program is not part of the repository: it is looked for in `shared/worlds` beside it, or further up.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.timing import PATIENCE
from benchmarks.worlds.objects import Json

_ROOT = Path(__file__).parents[2]
_PROGRAM = Path("shared", "worlds", "make_world.py")
ABSENT = f"{_PROGRAM} is needed, and neither beside {_ROOT} nor above it"


def maker() -> Path | None:
    return next((above / _PROGRAM for above in _ROOT.parents if (above / _PROGRAM).exists()), None)


def crowded(world: str, pods: int, millicpu: int, nodes: int | None = None, seed: int = 0) -> Iterator[Json]:
    """The newcomers, so many pods, come last and have no node."""
    program = maker()
    if program is None:
        raise SystemExit(ABSENT)
    command = [sys.executable, str(program), world, "--gang", str(pods), "--cpu", str(millicpu)]
    command += ["--seed", str(seed)]
    if nodes is not None:
        command += ["--nodes", str(nodes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                yield msgspec.json.decode(line)
            process.wait(PATIENCE)
        finally:
            process.kill()
    if process.returncode:
        raise SystemExit(f"{program} failed with exit code {process.returncode}")


def is_newcomer(thing: Json) -> bool:
    kind, name = thing["kind"], thing["metadata"]["name"]
    return (kind == "Pod" and "nodeName" not in thing["spec"]) or (kind, name) == ("PodGroup", "newcomer")


def renamed(newcomers: list[Json], number: int) -> Iterator[Json]:
    """The same demand once more, as other objects."""
    for thing in newcomers:
        name = f"{thing['metadata']['name']}-{number}"
        spec = thing["spec"]
        if "schedulingGroup" in spec:
            group = f"{spec['schedulingGroup']['podGroupName']}-{number}"
            spec = {**spec, "schedulingGroup": {"podGroupName": group}}
        yield {**thing, "metadata": {**thing["metadata"], "name": name, "uid": name}, "spec": spec}
