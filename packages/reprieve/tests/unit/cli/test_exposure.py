"""`reprieve exposure`, on the example cluster of the docs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reprieve.cli.main import reprieve
from tests.architecture.source import ROOT

CLUSTER = str(ROOT / "docs" / "examples" / "cluster.yaml")


def asked(*flags: str) -> Result:
    return CliRunner().invoke(reprieve, ["exposure", "--from", CLUSTER, *flags])


def rows(done: Result) -> list[str]:
    assert done.exit_code == 0, done.stderr
    return done.stdout.splitlines()


def test_the_most_exposed_come_first() -> None:
    shown = rows(asked("-A", "--no-headers"))
    assert [line.split()[1] for line in shown] == [
        "sweep-0",
        "sweep-1",
        "train-0",
        "train-1",
        "serve-0",
        "etl",
    ]


def test_names_for_scripts() -> None:
    assert rows(asked("-n", "team-c", "-o", "name")) == ["pod/serve-0"]
    assert rows(asked("-A", "-l", "app=serve", "-o", "name")) == ["pod/serve-0"]


def test_files_have_no_current_namespace_but_default() -> None:
    assert rows(asked()) == ["No running pod is shown that preemption could evict."]


@pytest.mark.parametrize("priority", ["1000", "service"])
def test_a_priority_may_be_named_by_its_class(priority: str) -> None:
    shown = rows(asked("-A", "--at-priority", priority, "-o", "name"))
    assert shown == ["pod/sweep-0", "pod/sweep-1", "pod/train-0", "pod/train-1"]


def test_a_class_that_never_preempts_is_noted(tmp_path: Path) -> None:
    patient = tmp_path / "patient.yaml"
    patient.write_text(
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: patient}\n"
        "value: 900\npreemptionPolicy: Never\n"
    )
    done = asked("-A", "--from", str(patient), "--at-priority", "patient", "-o", "name")
    assert "pod/sweep-0" in rows(done)
    assert done.stderr.startswith("Note: PriorityClass patient never preempts.")


def test_what_a_demand_of_some_shape_would_take() -> None:
    flags = ("-n", "team-b", "--at-priority", "service", "--shape", "cpu=1,nvidia.com/gpu=2")
    told = "would run on gpu-0 and preempt 1 of 5 pods (team-b/sweep-1)."
    assert f"A pod of this shape and priority 1000 {told}" in rows(asked(*flags))
    demand = json.loads(asked(*flags, "-o", "json").stdout)["demand"]
    assert (demand["outcome"], [v["pod"]["name"] for v in demand["preemption"]["victims"]]) == (
        "Preempts",
        ["sweep-1"],
    )


def test_victims_that_the_filter_hides_are_counted_only() -> None:
    shown = rows(asked("-n", "team-c", "--at-priority", "service", "--shape", "nvidia.com/gpu=2"))
    told = "would run on gpu-0 and preempt 0 of 1 pod, and 1 pod not shown here."
    assert f"A pod of this shape and priority 1000 {told}" in shown


def test_a_demand_that_fits_takes_nothing() -> None:
    shown = rows(asked("-A", "--at-priority", "1", "--shape", "cpu=1"))
    assert any(line.endswith("fits on gpu-1 without preemption.") for line in shown)


def test_a_demand_that_fits_nowhere() -> None:
    shown = rows(asked("-A", "--at-priority", "5", "--shape", "nvidia.com/gpu=2"))
    assert any(line.startswith("A pod of this shape and priority 5 fits nowhere, and") for line in shown)


def test_kube_scheduler_knows_no_tolerations() -> None:
    done = asked("-A", "--at-priority", "1000", "-o", "name", "--policy", "Upstream")
    assert "pod/etl" in rows(done)
    assert "tolerations of priority classes are ignored" in done.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--shape", "cpu=1"], "--shape needs --at-priority"),
        (["--at-priority", "1", "--shape", "cpu"], "--shape: expected RESOURCE=QUANTITY"),
        (
            ["--at-priority", "srevice"],
            'PriorityClass, got "srevice" (did you mean "service"?)',
        ),
        (["--at-priority", "5000000000"], "--at-priority: expected a priority of 32 bits"),
        (["-l", "a b"], "-l: unable to parse the label selector 'a b'"),
        (
            ["--policy", "Downstream"],
            'Upstream, PriorityCeiling, LeastDisturbance, or a file, got "Downstream"',
        ),
    ],
)
def test_wrong_usage(flags: list[str], message: str) -> None:
    done = asked(*flags)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_resource_that_cannot_be() -> None:
    done = asked("-A", "--at-priority", "1", "--shape", "gpu=1")
    assert done.exit_code == 1
    assert "--shape" in done.stderr
