"""The page of a real `reprieve up`: it shows what the API says, and misses no decision."""

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from reprieve.model.json import Json
from tests.browser.background import Background
from tests.browser.conftest import SHOWN
from tests.browser.devtools import Browser, Page
from tests.browser.live import Live, classes, live
from tests.browser.proxy import Proxy
from tests.browser.reading import click, decisions, known, text, texts
from tests.browser.test_questions import EXAMPLE
from tests.e2e.daemon import until
from tests.e2e.up import Kubectl, checked_kubectl, pod

NODES = 4
STEPS = 13
LOOKS = 4  # after each of them, at random moments
RUNNING = "[...document.querySelector('rp-cluster').picture.pods.values()].filter((p) => p.node).length"


@pytest.fixture(scope="module")
def up() -> Iterator[Live]:
    with live("--nodes", str(NODES)) as found:
        yield found


@pytest.fixture(scope="module")
def kubectl(up: Live, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    checked_kubectl()
    kubectl = Kubectl(up.kubeconfig, tmp_path_factory.mktemp("home"))
    kubectl.apply(*classes())
    return kubectl


@pytest.fixture
def line(background: Background, up: Live) -> Iterator[Proxy]:
    line = Proxy(background, up.port)
    yield line
    line.close()


@pytest.fixture
def page(browser: Browser, up: Live, line: Proxy) -> Iterator[Page]:
    page = browser.page()
    page.open(up.address.replace(str(up.port), str(line.port)))
    page.until(SHOWN)
    yield page
    errors, requests = page.seen.errors, page.seen.requests
    page.close()
    assert errors == []
    assert [url for url in requests if not url.startswith(f"http://127.0.0.1:{line.port}/page/")] == []


def wants(name: str, cpu: str, priority_class: str, **more: Any) -> Json:
    grace = {"terminationGracePeriodSeconds": 30}  # a second, at the speed of the tests
    return pod(name, cpu, priorityClassName=priority_class, **grace, **more)


def told(frame: Json) -> Json:
    """A keyframe as `known` reads the page's."""
    nodes = [row[0] for row in frame["nodes"]]
    groups = [row[0] for row in frame["groups"]]
    pods = [
        [
            row[0],
            row[1],
            at(nodes, row[2]),
            row[3],
            at(groups, row[4]),
            *row[5:7],
            at(nodes, row[7]),
            row[8],
        ]
        for row in frame["pods"]
    ]
    found = {
        "nodes": frame["nodes"],
        "groups": frame["groups"],
        "pods": pods,
        "decisions": frame["decisions"],
    }
    return {part: sorted(rows, key=repr) for part, rows in found.items()}


def at(names: list[str], index: int) -> str | None:
    return names[index] if index >= 0 else None


def same(page: Page, up: Live) -> None:
    """At a moment at which both have the same revision; a busy cluster may need another look."""
    end = time.monotonic() + 15
    while True:
        frame = up.api("picture")
        shown = known(page)
        if shown["revision"] == frame["revision"]:
            wanted = told(frame)
            assert {part: shown[part] for part in wanted} == wanted
            return
        assert time.monotonic() < end, "the page never caught up"
        time.sleep(0.05)


def placed(kubectl: Kubectl) -> dict[str, str | None]:
    """Where each pod runs, as Kubernetes' own API says it."""
    items = kubectl.get("pods", "-A")["items"]
    return {
        f"{item['metadata']['namespace']}/{item['metadata']['name']}": item["spec"].get("nodeName")
        for item in items
    }


def test_it_follows_the_cluster_and_misses_no_decision_after_reconnects(
    page: Page, up: Live, kubectl: Kubectl, line: Proxy
) -> None:
    kubectl.apply(*(wants(f"batch-{number}", "8", "batch") for number in range(2 * NODES)))
    chance = random.Random(7)
    for moment in range(STEPS):
        if moment % 4 == 1:
            line.cut()
            line.open = False
        if moment % 3 == 0:
            kubectl.apply(wants(f"web-{moment}", "8", "service"))
        elif moment % 3 == 1:
            kubectl.apply(wants(f"giant-{moment}", "64", "urgent"))
        else:
            kubectl("delete", "pod", f"giant-{moment - 1}", "--wait=false")
        if moment % 4 == 1:
            page.until("!document.getElementById('banner').hidden")
            line.open = True
        for _ in range(LOOKS):
            same(page, up)
            time.sleep(0.3 * chance.random())
    until(lambda: placed(kubectl) == {row[0]: row[2] for row in known(page)["pods"]})
    wanted = [decision["id"] for decision in up.api("picture")["decisions"]]
    assert len(wanted) >= STEPS // 3
    page.until(
        "[...document.querySelectorAll('.fold > button[aria-expanded=false]')].forEach((b) => b.click()),"
        f" document.querySelectorAll('.decisions [data-id]').length === {len(wanted)}"
    )
    assert sorted(decisions(page)) == sorted(wanted)
    for number in wanted:
        click(page, f".decisions [data-id='{number}'] button")
        page.until(f"document.querySelector('rp-decision-view h2')?.textContent === 'Decision {number}'")
        assert page.evaluate("document.querySelector('rp-decision-view .failure')") is None


def test_a_what_if_is_seen_before_it_is_applied(page: Page, up: Live, kubectl: Kubectl) -> None:
    kubectl.apply(*(wants(f"filler-{number}", "6", "batch") for number in range(3 * NODES)))
    page.until(f"{RUNNING} >= {2 * NODES}")
    page.press("w")
    page.type(yaml.safe_dump(wants("asked", "10", "urgent")))
    page.press("Control+Enter")
    page.until("!!document.querySelector('rp-whatif .outcome')")
    assert "It fits only by preemption" in text(page, ".outcome")
    assert text(page, "rp-cluster .note").startswith("What-if: ")
    page.evaluate(
        "[...document.querySelectorAll('rp-whatif button')].find((b) => b.textContent === 'Apply').click()"
    )
    page.until("document.querySelector('rp-whatif .result').textContent.startsWith('Created')")
    page.until("!!document.querySelector('rp-cluster').picture.podByKey('default/asked')")
    assert "asked" in kubectl.names("pods")
    page.evaluate("document.getElementById('whatif-yaml').select()")
    page.type("\tnot: [yaml")
    page.press("Control+Enter")
    page.until("!!document.querySelector('rp-whatif .failure')")


def test_the_example_is_not_refused(page: Page, kubectl: Kubectl) -> None:
    """Whether it preempts depends on what runs by then."""
    page.press("w")
    page.evaluate(EXAMPLE)
    page.until("!!document.querySelector('rp-whatif .outcome, rp-whatif .failure')")
    assert "Pod default/example-1 · priority 10,000" in text(page, "rp-whatif .outcome")
    assert "It fits" in text(page, "rp-whatif .outcome")


def test_exposure_and_why_answer_for_the_cluster(page: Page, kubectl: Kubectl) -> None:
    kubectl.apply(wants("exposed", "1", "service"))
    page.until("document.querySelector('rp-cluster').picture.podByKey('default/exposed')?.state === 1")
    page.press("e")
    page.until(
        "[...document.querySelectorAll('rp-exposure th')].some((e) => e.textContent === 'default/exposed')"
    )
    page.press("y")
    page.type("default/exposed")
    page.press("Enter")
    page.until("document.querySelector('rp-why .lead')?.textContent.includes('default/exposed')")
    assert "running" in text(page, "rp-why .lead")


def test_a_token_of_another_run_is_a_sentence(browser: Browser, up: Live) -> None:
    page = browser.page()
    page.open(f"{up.site}#token=of-yesterday")
    page.until("document.getElementById('connection')?.dataset.state === 'ended'")
    assert texts(page, "#banner")[0].startswith("No access: ")
    page.close()
