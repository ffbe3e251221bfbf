"""Every error of the command line has one form: where, and what was expected there."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from reprieve.cli.main import reprieve


def said(*arguments: str) -> str:
    """The last line, after the usage."""
    done = CliRunner().invoke(reprieve, arguments, prog_name="reprieve")
    assert done.exit_code in (1, 2)
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--foo", "--foo: no such option"),
        ("dmo", 'dmo: no such command (did you mean "demo"?)'),
        ("config validat x", 'validat: no such command (did you mean "validate"?)'),
        (
            "demo --scene gng",
            "--scene: expected one of gang, groups, toleration, crowd, budgets, trees, handover, resize, "
            'placement, workloads, got "gng" (did you mean "gang"?)',
        ),
        ("demo --sped 1", '--sped: no such option (did you mean "--speed"?)'),
        ("demo --speed x", '--speed: expected a number, got "x"'),
        ("demo --speed -1", "--speed: expected a number in the range x>0, got -1.0"),
        ("demo --scene resize -f x", "--scene: expected no -f and no --cluster beside it"),
        ("up --port x", '--port: expected a whole number, got "x"'),
        ("check -o x", '-o, --output: expected one of text, json, yaml, got "x"'),
        ("scheduler --leader-elect=x", '--leader-elect: expected true or false, got "x"'),
        ("scheduler --bind-address=x", '--bind-address: expected an IP address, got "x"'),
        ("replay", "DIR: required"),
        ("demo x", "got unexpected extra argument (x)"),
        ("demo -f /nowhere", "/nowhere: cannot be read: no such file or directory"),
    ],
)
def test_an_error_says_where_and_what_was_expected(arguments: str, sentence: str) -> None:
    assert said(*arguments.split()) == f"Error: {sentence}"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--search", "Foo"], "--search: expected one of PriorityCeiling, Upstream, LeastDisturbance"),
        (["--disturbance", "pods"], '--disturbance: no criterion is called "pods"'),
        (["--disturbance", "Pods,Pods"], "--disturbance: Pods is listed twice"),
        (["--disturbance", ""], '--disturbance: no criterion is called ""'),
        (
            ["--search", "LeastDisturbance", "--budgets", "Upstream"],
            "--budgets: search: LeastDisturbance counts the evictions of a plan together",
        ),
    ],
)
def test_a_flag_that_overrides_the_configuration_is_named(
    tmp_path: Path, flags: list[str], sentence: str
) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}"
    )
    assert said("whatif", "-f", str(pod), "--from", str(pod), *flags).startswith(f"Error: {sentence}")


def test_a_group_without_a_command_prints_its_help() -> None:
    done = CliRunner().invoke(reprieve, ["config"], prog_name="reprieve")
    assert done.output.startswith("Usage: reprieve config")
    assert "Error" not in done.output


@pytest.mark.parametrize(
    "arguments",
    [
        "whatif -f FILE --from FILE",
        "why p --from FILE",
        "exposure --from FILE",
        "snapshot show FILE",
        "page FILE",
        "config validate FILE",
        "demo -f FILE",
        "up --from FILE",
        "up --shape FILE",
        "simulate FILE --nodes 1*gpu8 --policy Upstream",
        "simulate generated --nodes FILE --policy Upstream",
    ],
)
def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, arguments: str) -> None:
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, 1 << 40)
    done = CliRunner().invoke(
        reprieve, [str(path) if one == "FILE" else one for one in arguments.split()], prog_name="reprieve"
    )
    assert done.exit_code == 1, done.output
    assert f"Error: {path}: the file is too large: expected at most 536870912 bytes" in done.stderr
