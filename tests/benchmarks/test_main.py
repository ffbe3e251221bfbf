"""The command: what it prints, and what it answers to what does not exist."""

import json
import os
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.cases import Case
from benchmarks.names import UsageError
from benchmarks.process import RunFailedError
from benchmarks.revisions import checked_out, import_path
from benchmarks.timing import Run
from benchmarks.worlds import crowded
from tests.processes import run_process

RUN = Run(wall_ms=[2.0], cpu_ms=[1.0], per_second=500.0, rss_mb=50.0)


def test_a_case_in_a_process_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--case", "write", "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["case"] == "write"
    assert found["median_ms"] > 0
    assert err == "write (case 1 of 1)\n"


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list", "--case", "H*"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [
        *("H1000-pod", "H1000-gang", "H1000-gang-fits", "H1000-gang-hopeless"),
        *("H5000-pod", "H5000-gang", "H5000-gang-hopeless"),
        *("H1000-gang-answered", "H5000-gang-answered"),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--case", "G50"], "no case is named 'G50'; nearest: G500, "),
        (
            ["--case", "P500", "--against", "no-such-revision"],
            "no revision is named 'no-such-revision'; nearest: ",
        ),
        (
            ["--case", "P500", "--against", "HEAD", "--runs", "3"],
            "--runs 3 is too few for a confidence interval",
        ),
    ],
)
def test_what_does_not_exist(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(said)
    assert err.count("\n") == 1


def test_a_world_that_cannot_be_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(crowded, "maker", lambda: None)
    assert command.main(["--case", "H1000-pod"]) == 2
    assert capsys.readouterr().err.startswith(
        "H1000-pod cannot be measured: shared/worlds/make_world.py is needed"
    )


def test_without_names_such_worlds_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(crowded, "maker", lambda: None)
    monkeypatch.setattr(command, "measured", lambda case: RUN)
    assert command.main(["--json"]) == 0
    out, err = capsys.readouterr()
    assert "H1000-pod" not in out
    assert "whatif-live are left out: " in err


def test_a_case_that_fails_does_not_keep_others_from_being_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(case: Case) -> Run:
        if case.name == "P500":
            raise RunFailedError("P500 cannot be measured: no Scheduler")
        return RUN

    monkeypatch.setattr(command, "measured", measured)
    assert command.main(["--case", "[GP]500"]) == 1
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["case", "G500"]
    assert "P500 cannot be measured: no Scheduler" in err


# --- another revision ----------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With two commits: the module of the product says which."""
    module = tmp_path / "src" / "reprieve" / "__init__.py"
    module.parent.mkdir(parents=True)
    _git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for text in ("first", "second"):
        module.write_text(text)
        _git(tmp_path, "add", ".")
        _git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", text)
    return tmp_path


def _git(repository: Path, *arguments: str) -> None:
    run_process(["git", *arguments], cwd=repository, check=True)


def test_the_source_of_another_revision(repository: Path) -> None:
    with checked_out(repository, "HEAD~1") as found:
        assert import_path(found.source) == str(found.source / "src")
        assert (found.source / "src" / "reprieve" / "__init__.py").read_text() == "first"
        assert len(found.name) >= 7
    assert not found.source.exists()


def test_a_revision_with_three_distributions(repository: Path) -> None:
    for name in ("reprieve", "reprieve-study"):
        module = repository / "packages" / name / "src" / name.replace("-", "_") / "__init__.py"
        module.parent.mkdir(parents=True)
        module.touch()
    _git(repository, "rm", "-rq", "src")
    _git(repository, "add", ".")
    _git(repository, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "three")
    with checked_out(repository, "HEAD") as found:
        roots = [str(found.source / "packages" / name / "src") for name in ("reprieve", "reprieve-study")]
        assert import_path(found.source).split(os.pathsep) == roots


def test_a_revision_that_is_none(repository: Path) -> None:
    with (
        pytest.raises(UsageError, match="no revision is named 'mian'; nearest: main"),
        checked_out(repository, "mian"),
    ):
        pass


def test_a_revision_without_the_product(repository: Path) -> None:
    _git(repository, "rm", "-rq", "src")
    _git(repository, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "empty")
    with (
        pytest.raises(UsageError, match="revision HEAD has neither packages/reprieve nor src/reprieve"),
        checked_out(repository, "HEAD"),
    ):
        pass


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no git repository"), checked_out(tmp_path, "HEAD"):
        pass
