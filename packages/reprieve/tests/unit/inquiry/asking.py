"""`reprieve whatif` as a user types it, on a small cluster in files."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from tests.unit.inquiry.objects import classes, manifest_file, snapshot_file

from reprieve.cli.main import reprieve


def ask(folder: Path, cluster: Iterable[Any], new: Iterable[Any] = (), *args: str, stdin: str = "") -> Result:
    """Without priority classes of its own, the cluster has the usual ones."""
    objects = [*cluster]
    known = [] if any(thing["kind"] == "PriorityClass" for thing in objects) else classes()
    words = ["whatif", "--from", snapshot_file(folder, [*known, *objects]), *args]
    if manifests := [*new]:
        words += ["-f", manifest_file(folder, manifests)]
    return CliRunner().invoke(reprieve, words, input=stdin)


def reports(result: Result) -> list[Any]:
    """The reports of a command that was asked for JSON."""
    found = json.loads(result.stdout)
    assert found["apiVersion"] == "reprieve.dev/v1alpha2"
    if found["kind"] == "WhatIfReportList":
        return list(found["items"])
    assert found["kind"] == "WhatIfReport"
    return [found]


def report(folder: Path, cluster: Iterable[Any], new: Iterable[Any] = (), *args: str) -> Any:
    result = ask(folder, cluster, new, *args, "-o", "json")
    assert result.exit_code in (0, 10, 11, 20), result.output
    (found,) = reports(result)
    return found


def placed(found: Any) -> dict[str, str]:
    """By pod, its node."""
    return {f"{one['pod']['namespace']}/{one['pod']['name']}": one["node"] for one in found["placements"]}


def victims_in(found: Any) -> list[str]:
    return [victim["pod"]["name"] for victim in (found["preemption"] or {"victims": []})["victims"]]


def refusal(folder: Path, cluster: Iterable[Any], new: Iterable[Any] = (), *args: str) -> str:
    """The one sentence of a command that cannot answer, without the folder's name."""
    result = ask(folder, cluster, new, *args)
    assert result.exit_code == 1, result.output
    return result.output.replace(f"{folder}/", "").removeprefix("Error: ").strip()
