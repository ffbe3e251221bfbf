"""`reprieve page`: a recording that cannot be shown is a sentence."""

from pathlib import Path

from click.testing import CliRunner

from reprieve.cli.main import reprieve


def test_a_recording_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    done = CliRunner().invoke(reprieve, ["page", str(tmp_path)])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: {tmp_path}: expected a journal")


def test_a_recording_has_no_context(tmp_path: Path) -> None:
    done = CliRunner().invoke(reprieve, ["page", str(tmp_path), "--context", "c"])
    assert done.exit_code == 2
    assert "a recording (DIR or FILE) cannot be used" in done.stderr


def test_a_cluster_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    done = CliRunner().invoke(reprieve, ["page", "--kubeconfig", str(tmp_path / "absent")])
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: ")
    assert "absent" in done.stderr
