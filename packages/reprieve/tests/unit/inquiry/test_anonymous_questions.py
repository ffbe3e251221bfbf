"""An anonymous snapshot can be asked about, with its key: the answer is the same but for names."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.unit.inquiry.objects import budget, classes, deployment, manifest_file, node, pod, snapshot_file

from reprieve.cli.main import reprieve

TEAM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}
CLUSTER = [
    *classes(),
    TEAM,
    node("gpu-1"),
    node("gpu-2"),
    pod("sweep-1", 8, on="gpu-1", level="low", namespace="team-a", labels={"app": "sweep"}),
    pod("sweep-2", 8, on="gpu-2", level="low", namespace="team-a", labels={"app": "serving"}),
    pod("small", 0, on="gpu-2", level="low", namespace="team-a"),
    {**budget("serving", {"app": "serving"}, 0), "metadata": {"name": "serving", "namespace": "team-a"}},
]


def run(*words: str) -> Result:
    return CliRunner().invoke(reprieve, words)


def hidden(folder: Path) -> tuple[str, str]:
    """The anonymous snapshot, and its key."""
    source, file, key = snapshot_file(folder, CLUSTER), str(folder / "hidden.jsonl"), str(folder / "key.json")
    done = run("snapshot", "save", file, "--anonymise", "--key", key, "--from", source)
    assert done.exit_code == 0, done.output
    return file, key


def serving(name: str = "inference") -> Any:
    found = deployment(name, 1, gpus=2, level="urgent")
    template = found["spec"]["template"]
    template["spec"]["containers"][0] |= {
        "imagePullPolicy": "Always",
        "ports": [{"name": "http", "containerPort": 80}],
    }
    template["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "gpu-1"}
    return found


def outcome(words: list[str]) -> Any:
    done = run("whatif", *words, "-o", "json")
    assert done.exit_code == 10, done.output
    found = json.loads(done.stdout)
    victims = [one["pod"]["name"].partition("-")[0] for one in found["preemption"]["victims"]]
    return found["outcome"], len(found["placements"]), len(victims), found["demand"]["priority"]


def test_a_manifest_with_names_of_the_cluster(tmp_path: Path) -> None:
    manifest = manifest_file(tmp_path, [serving()])
    file, key = hidden(tmp_path)
    plain = outcome(["--from", str(tmp_path / "cluster.jsonl"), "-f", manifest, "-n", "team-a"])
    assert outcome(["--from", file, "--key", key, "-f", manifest, "-n", "team-a"]) == plain
    assert run("whatif", "--from", file, "-f", manifest, "-n", "team-a").exit_code == 1


def test_no_name_is_said(tmp_path: Path) -> None:
    file, key = hidden(tmp_path)
    manifest = manifest_file(tmp_path, [serving()])
    done = run("whatif", "--from", file, "--key", key, "-f", manifest, "-n", "team-a")
    for name in ("sweep-1", "gpu-1", "gpu-2", "team-a"):
        assert name not in done.stdout
    assert "Deployment inference is called x" in done.stderr
    assert "gpu-1" not in Path(file).read_text()
    assert Path(key).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--drain", "gpu-2"], 0),
        (["--resize", "small=cpu:4"], 0),
        (["--add-node", "node/gpu-1x2", "--drain", "gpu-2", "--remove", "pod/sweep-1"], 0),
    ],
)
def test_flags_name_objects_as_before(tmp_path: Path, words: list[str], code: int) -> None:
    file, key = hidden(tmp_path)
    plain = run("whatif", "--from", str(tmp_path / "cluster.jsonl"), "-n", "team-a", *words)
    done = run("whatif", "--from", file, "--key", key, "-n", "team-a", *words)
    assert (plain.exit_code, done.exit_code) == (code, code), plain.output + done.output


def test_another_key_is_refused(tmp_path: Path) -> None:
    file, key = hidden(tmp_path)
    other = json.loads(Path(key).read_text()) | {"takenAt": "2026-03-01T10:00:00Z"}
    Path(key).write_text(json.dumps(other))
    done = run("whatif", "--from", file, "--key", key, "-f", manifest_file(tmp_path, [serving()]))
    assert done.exit_code == 1
    assert done.stderr.endswith("it is the key of another snapshot: the two were taken at different times\n")


def test_the_recipe_for_pull_requests(tmp_path: Path) -> None:
    """The commands of the page, with a cluster from files in place of a live one."""
    root = next(above for above in Path(__file__).parents if (above / "docs").is_dir())
    page = (root / "docs" / "how-to" / "whatif-in-ci.md").read_text()
    save, script = page.split("```sh\n")[1].split("```")[0], page.split("```bash\n")[1].split("```")[0]
    (tmp_path / "manifests").mkdir()
    manifest_file(
        tmp_path / "manifests", [{**serving(), "metadata": {"name": "inference", "namespace": "team-a"}}]
    )
    snapshot_file(tmp_path, CLUSTER)
    lines = [f"{line} --from cluster.jsonl" for line in save.strip().splitlines()]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["/bin/bash", "-c", "\n".join([*lines, script])],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "fits by preempting pods: see report.md"), (
        done
    )
    assert "fits only by preemption" in (tmp_path / "report.md").read_text()
