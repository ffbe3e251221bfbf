"""Decisions: the list, one decision with its reasons, and what can be copied of it."""

import itertools

from reprieve.model.json import Json
from tests.browser.devtools import Page
from tests.browser.fake_server import FakeServer
from tests.browser.reading import click, colour, decisions, in_order, pixel, text, texts
from tests.browser.scripted import LEAVING, PENDING, Node, Pod, World, summary


def drawn(page: Page) -> None:
    page.evaluate("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))")


def open_decision(page: Page, number: str) -> None:
    click(page, f".decisions [data-id='{number}'] button")
    page.until(f"document.querySelector('rp-decision-view h2')?.textContent === 'Decision {number}'")


def test_preemptions_are_listed_before_refusals_newest_first(
    page: Page, server: FakeServer, world: World
) -> None:
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


REFUSAL = {"outcome": "refused", "stage": None, "ended": None, "victims": 0, "cost": None, "proved": None}


def refused(number: int, key: str, why: str) -> Json:
    demand = {"kind": "Pod", "key": key, "uid": f"uid-{key}", "priority": 0, "pods": 1}
    return summary(number, demand=demand, why=why, **REFUSAL)


def test_refusals_of_one_workload_for_one_reason_are_one_line(
    page: Page, server: FakeServer, world: World
) -> None:
    """464 of 465 entries said the same."""
    key = "default/web-7c5ddbdf54-{}{}xzx".format
    suffixes = list(itertools.product("bcdfghjklmnpqrstvwxz24", repeat=2))[:464]
    server.change(
        *(
            world.decide(refused(1000 + n, key(*two), f"gpu-{n} is short of cpu by {n}"))
            for n, two in enumerate(suffixes)
        ),
        world.decide(refused(2000, "default/other", "gpu-1 is short of cpu by 3")),
        world.decide(refused(2001, key("9", "9"), "no node matches its affinity")),
    )
    page.until("document.querySelectorAll('.refusals > li').length === 4")
    assert texts(page, ".refusals > li > button strong") == [
        *("default/web-7c5ddbdf54-99xzx", "default/other", "default/web", "team-c/giant"),
    ]
    assert text(page, "h3.kind") == "Refused: 467 decisions of 4 kinds"
    assert "464 decisions" in text(page, ".refusals .fold .first")
    assert text(page, ".decisions > li strong") == "team-a/urgent"  # preemptions stay above
    click(page, ".refusals .fold > button")
    page.until("document.querySelectorAll('.refusals .fold li').length === 100")
    page.evaluate("document.querySelector('.refusals .fold li:nth-child(3) button').click()")
    page.until("document.querySelector('rp-decision-view h2')?.textContent === 'Decision d-1461'")


def test_what_is_refused_opens_on_the_reasons_and_the_map_stays_readable(
    page: Page, server: FakeServer, world: World
) -> None:
    """And it says of each node how near it is."""
    node = world.add_node(Node("probe", "cpu16", "zone-a", [16_000, 65_536, 0]))
    waits = Pod("team-a/waits", 0, [10_000, 1_024, 0], None, None, PENDING)
    runs = world.put(Pod("team-b/runs", -10, [8_000, 1_024, 0], "probe"))
    found = refused(3000, waits.key, "probe is short of cpu by 2")
    found["demand"]["uid"] = waits.uid
    miss = {
        **{"pod": {"uid": waits.uid}, "placed": 0, "needed": 1, "node": "probe", "resource": "cpu"},
        **{"short": 2_000, "nodes": 1, "kept": 0, "because": {"text": "probe is short of cpu by 2"}},
    }
    reason = {"code": "Reason", "detail": "", "text": "it has insufficient cpu left"}
    world.details["d-3000"] = {
        **{"id": "d-3000", "preemption": None, "miss": miss},
        "findings": [{"reason": reason, "nodes": 61, "curable": True, "examples": ["probe"]}],
    }
    server.change(node, world.put(waits), runs, world.decide(found))
    page.until("!!document.querySelector('.decisions [data-id=\"d-3000\"]')")
    drawn(page)
    open_decision(page, "d-3000")
    drawn(page)
    assert page.evaluate("document.querySelector('#tab-refused-nodes').ariaSelected") == "true"
    assert text(page, "rp-cluster .note") == "It does not fit. Nearest: probe is short of cpu by 2."
    assert pixel(page, "probe", 0.5, 0.1) == colour(page, "level-0")
    # A bracket over what is needed, from the top down; and words.
    assert pixel(page, "probe", 0.98, 0.9) == colour(page, "nominated")
    page.evaluate("document.querySelector('rp-cluster').pin('probe')")
    page.until("document.querySelector('rp-lens .near')?.textContent === 'Short of 2 cpu.'")
    open_decision(page, "d-317")
    assert page.evaluate("document.querySelector('#tab-victims-of').ariaSelected") == "true"
    open_decision(page, "d-3000")
    page.evaluate("document.querySelector('rp-cluster').pin('gpu8-0')")
    page.until("document.querySelector('rp-lens h3')?.textContent === 'gpu8-0'")
    assert text(page, "rp-lens .near") in {"Refused for another reason.", "Short of 2 cpu."}


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
