"""`reprieve page DIR`: what a journal recorded, at any moment of it."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.browser.conftest import SHOWN
from tests.browser.devtools import Browser, Page
from tests.browser.live import classes, live
from tests.browser.reading import click, decisions, numbers, text, texts
from tests.browser.test_live import wants
from tests.browser.test_questions import EXAMPLE
from tests.browser.test_time import slide
from tests.e2e.up import PATIENCE, REPRIEVE, Kubectl
from tests.processes import started


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a cluster in which one pod preempted two."""
    folder = tmp_path_factory.mktemp("data")
    with live("--nodes", "1", "--data-dir", str(folder)) as up:
        kubectl = Kubectl(up.kubeconfig, tmp_path_factory.mktemp("home"))
        kubectl.apply(*classes(), *(wants(f"batch-{number}", "6", "batch") for number in range(2)))
        kubectl("wait", "--for=condition=PodScheduled", "pod/batch-0", "pod/batch-1")
        kubectl.apply(wants("urgent", "16", "urgent"))
        kubectl("wait", "--for=condition=Ready", "pod/urgent")
    return folder / "journal"


@contextmanager
def shown(browser: Browser, path: Path) -> Iterator[Page]:
    command = [REPRIEVE, "page", str(path)]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        found = re.search(r"page: (\S+)", process.stdout.readline())
        assert found is not None, process.communicate(timeout=PATIENCE)
        page = browser.page()
        page.open(found[1])
        page.until(SHOWN)
        yield page
        assert page.seen.errors == []
        page.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def test_a_journal_is_shown_at_its_end_and_at_earlier_moments(browser: Browser, journal: Path) -> None:
    with shown(browser, journal) as page:
        assert text(page, "#connection") == "recording"
        assert page.evaluate("document.getElementById('banner').hidden")
        assert len(decisions(page)) == 1
        assert page.evaluate("!!document.querySelector('rp-cluster').picture.podByKey('default/urgent')")
        slide(page, 0)
        page.until("document.getElementById('connection').textContent === 'looking back'")
        assert numbers(page)["pods"] == "0"
        assert decisions(page) == []
        page.press("l")
        page.until("document.getElementById('connection').textContent === 'recording'")
        assert len(decisions(page)) == 1
        page.evaluate("document.querySelector('.decisions button').click()")
        page.until("!!document.querySelector('#victims-of tbody tr')")
        assert texts(page, "#victims-of tbody th") == ["default/batch-0", "default/batch-1"]
        assert page.evaluate("document.querySelectorAll('rp-scrubber svg rect').length") == 1
        # It has ended: the map and the clock are at its time, with the victims.
        page.until("document.getElementById('connection').textContent === 'looking back'")
        page.until("!!document.querySelector('rp-cluster').picture.podByKey('default/batch-0')")
        assert "The map shows the cluster as it was at " in text(page, "rp-decision-view .place")
        assert decisions(page) != []
        click(page, "rp-decision-view .place button")
        page.until("document.getElementById('connection').textContent === 'recording'")
        assert texts(page, "#victims-of .state") == ["✓ gone"] * 2


def test_a_recording_can_be_asked_about_its_example(browser: Browser, journal: Path) -> None:
    with shown(browser, journal) as page:
        page.press("w")
        page.evaluate(EXAMPLE)
        page.until("!!document.querySelector('rp-whatif .outcome, rp-whatif .failure')")
        assert "Pod default/example-1 · priority 10,000" in text(page, "rp-whatif .outcome")
