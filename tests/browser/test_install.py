"""Where no browser can be had, the run says so in one sentence and fails."""

import pytest

from tests.browser.install_chromium import main


def test_without_a_browser_it_says_so_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # neither a browser nor apt-get
    assert main() == 1
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith("no browser: none of chromium, ")


def test_the_browser_that_the_machine_has_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert capsys.readouterr() == ("", "")
