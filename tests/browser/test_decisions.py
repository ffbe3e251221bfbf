"""Decisions: the list, one decision with its reasons, and what can be copied of it."""

from tests.browser.devtools import Page
from tests.browser.fake_server import FakeServer
from tests.browser.reading import click, decisions, in_order, text, texts
from tests.browser.scripted import LEAVING, World, summary


def open_decision(page: Page, number: str) -> None:
    click(page, f".decisions [data-id='{number}'] button")
    page.until(f"document.querySelector('rp-decision-view h2')?.textContent === 'Decision {number}'")


def test_every_decision_is_listed_newest_first(page: Page, server: FakeServer, world: World) -> None:
    assert decisions(page) == in_order(world)
    server.change(world.decide(summary(318, victims=4)))
    page.until("document.querySelector('.decisions > li').dataset.id === 'd-318'")
    assert "4 victims" in texts(page, ".decisions > li .second")[0]
    server.change(world.decide(summary(318, victims=4, stage="draining", ended=None)))
    page.until("document.querySelector('.decisions > li .pill').textContent === '● draining'")
    assert len(decisions(page)) == len(world.decisions)


def test_a_decision_has_stages_victims_spared_units_and_the_plans_that_lost(page: Page, world: World) -> None:
    open_decision(page, "d-317")
    detail = world.details["d-317"]
    assert texts(page, "rp-decision-view .track .done")[0].startswith("✓nominated")
    assert text(page, "rp-decision-view .track [aria-current=step]").startswith("●draining")
    pods = [victim["pod"] for victim in detail["preemption"]["victims"]]
    assert texts(page, "#victims-of tbody th") == [f"{pod['namespace']}/{pod['name']}" for pod in pods]
    page.evaluate("document.getElementById('tab-victims-of').focus()")
    page.press("ArrowRight")
    assert page.evaluate("!document.getElementById('spared-by').hidden")
    assert texts(page, "#spared-by tbody th") == ["PodGroup/team-c/eval", "PodGroup/team-a/finetune"]
    assert texts(page, "#spared-by td:nth-of-type(2)") == ["100", "500 (own 100)"]
    assert "20 units (1,936 pods) could have been evicted and are not." in text(page, "#spared-by")
    assert "and 18 more that were not recorded" in text(page, "#spared-by")
    assert "there is room beside it" in text(page, "#spared-by")
    page.press("ArrowRight")
    assert "lowest highest priority: 8 pods, highest priority 100" in text(page, "#other-plans")
    first, second = texts(page, "#other-plans td:nth-of-type(2)")
    assert first == "PodGroup/team-c/eval"
    assert second.startswith("Pod/team-b/job-0, Pod/team-b/job-1, ")
    assert texts(page, "#other-plans summary") == ["and 23 more"]
    assert second.endswith("Pod/team-b/job-19, and 11 that were not recorded")
    page.press("ArrowRight")
    assert "and 5 more that were not recorded" in text(page, "#other-plans")
    counts = ["Victims 16", "Spared units 20", "Other plans 7", "Nodes refused 21"]
    assert [one for one in texts(page, "rp-decision-view [role=tab]") if one != "Text"] == counts
    assert "20 units (1,936 pods) spared" in text(page, ".decisions [data-id='d-317'] .second")
    assert "node is cordoned" in text(page, "#refused-nodes")
    assert "cpu16-0, cpu16-1, cpu16-2 and 17 more" in text(page, "#refused-nodes")
    quality = text(page, "rp-decision-view .quality")
    assert "pods stopped 16" in quality
    assert "the best of 8 placements by: lowest highest priority" in quality
    assert "No plan can do better than" in quality


def test_the_victims_states_follow_the_cluster(page: Page, server: FakeServer, world: World) -> None:
    open_decision(page, "d-317")
    victims = [world.pods[victim["pod"]["uid"]] for victim in world.details["d-317"]["preemption"]["victims"]]
    server.change(*(world.put(victim, state=LEAVING) for victim in victims))
    page.until(
        "[...document.querySelectorAll('#victims-of .state')].every((s) => s.textContent === '✕ leaving')"
    )
    server.change(*(world.remove(victim) for victim in victims))
    page.until(
        "[...document.querySelectorAll('#victims-of .state')].every((s) => s.textContent === '✓ gone')"
    )


def test_it_can_be_copied_as_a_command_and_as_json(page: Page) -> None:
    page.evaluate(
        "navigator.clipboard.writeText = (text) => {"
        " document.body.dataset.copied = text; return Promise.resolve(); }"
    )
    open_decision(page, "d-317")
    click(page, "rp-decision-view .copy")
    assert page.until("document.body.dataset.copied") == "reprieve why d-317"
    click(page, "rp-decision-view .copy:nth-of-type(2)")
    assert (
        page.until(
            "document.body.dataset.copied.startsWith('{') && JSON.parse(document.body.dataset.copied).id"
        )
        == "d-317"
    )


def test_an_address_leads_to_a_decision(page: Page, server: FakeServer) -> None:
    open_decision(page, "d-317")
    assert page.evaluate("location.hash") == "#decision=d-317"
    page.open("about:blank")
    page.seen.requests.clear()
    page.open(f"{server.address}#decision=d-317")
    page.until("document.querySelector('rp-decision-view h2')?.textContent === 'Decision d-317'")


def test_a_decision_that_is_not_kept_any_more_is_a_sentence(page: Page, world: World) -> None:
    del world.decisions["d-300"]
    page.evaluate("document.querySelector('.decisions > li:last-child button').click()")
    page.until(
        "document.querySelector('rp-decision-view .failure')?.textContent"
        " === 'decision d-300 is not kept any more'"
    )
