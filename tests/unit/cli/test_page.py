"""`reprieve page`: a recording that cannot be shown is a sentence."""

from pathlib import Path

from click.testing import CliRunner

from reprieve.cli.main import reprieve


def test_a_recording_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    done = CliRunner().invoke(reprieve, ["page", str(tmp_path)])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: {tmp_path}: expected a journal")
