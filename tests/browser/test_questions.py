"""What-if, exposure and why: the documents of the commands, as a reader sees them."""

from tests.browser.devtools import Page
from tests.browser.fake_server import FakeServer
from tests.browser.reading import click, colour, pixel, text, texts
from tests.browser.scripted import World, summary
from tests.browser.test_cluster_view import drawn

REPORT = {
    "kind": "WhatIfReport",
    "outcome": "Preempts",
    "demand": {"kind": "Pod", "namespace": "team-a", "name": "new", "priority": 1000, "pods": 1},
    "placements": [{"pod": {"namespace": "team-a", "name": "new"}, "node": "gpu8-0"}],
    "text": "Pod team-a/new fits only by preemption.",
}


EXAMPLE = (
    "[...document.querySelectorAll('rp-whatif button')].find((b) => b.textContent === 'Example').click()"
)


def ask(page: Page, yaml: str) -> None:
    page.press("w")
    page.type(yaml)
    page.press("Control+Enter")


def test_a_plan_appears_on_the_map_before_anything_is_submitted(
    page: Page, server: FakeServer, world: World
) -> None:
    victim = world.on("gpu8-0")[0]
    line = {
        "pod": {"namespace": "team-b", "name": "v"},
        "node": "gpu8-0",
        "priority": 0,
        "because": {"text": "room is needed"},
    }
    room = {
        "victims": [line],
        "spared": [{"unit": "Pod/team-b/x", "pods": 1, "because": {"text": "there is room beside it"}}],
        "unitsSpared": 1,
        "podsSpared": 1,
        "choice": "the best of 8 placements by: fewest pods",
    }
    overlay = {"victims": [victim.uid], "spared": [], "placements": [{"pod": "team-a/new", "node": "gpu8-0"}]}
    server.answers["whatif"] = (200, {**REPORT, "preemption": room, "overlay": overlay})
    ask(page, "kind: Pod")
    page.until("!!document.querySelector('rp-whatif .outcome')")
    assert server.asked == [("whatif", "kind: Pod")]
    assert "It fits only by preemption" in text(page, ".outcome")
    assert "room is needed" in text(page, "rp-whatif .result")
    assert "The best of 8 placements by: fewest pods." in text(page, "rp-whatif .result")
    assert "What-if: 1 victim, 1 pod to place." in text(page, "rp-cluster .note")
    drawn(page)
    # The dashed frame of what is to come.
    assert pixel(page, "gpu8-0", 0.03, 0.998) == colour(page, "nominated")


def test_yaml_that_is_none_is_a_sentence_and_stays_in_the_field(page: Page, server: FakeServer) -> None:
    server.answers["whatif"] = (400, {"message": "the manifest is not YAML: line 1 has a tab"})
    ask(page, "\tx: [")
    page.until("document.querySelector('rp-whatif .failure')?.textContent.includes('line 1 has a tab')")
    assert page.evaluate("document.getElementById('whatif-yaml').value") == "\tx: ["


def test_in_the_mini_cluster_it_can_be_applied(page: Page, server: FakeServer) -> None:
    server.answers["apply"] = (200, {"created": ["pod/new"]})
    page.press("w")
    page.type("kind: Pod")
    page.evaluate(
        "[...document.querySelectorAll('rp-whatif button')].find((b) => b.textContent === 'Apply').click()"
    )
    page.until("document.querySelector('rp-whatif .result').textContent === 'Created pod/new.'")
    assert server.asked == [("apply", "kind: Pod")]


def test_a_server_that_only_reads_offers_neither(page: Page, server: FakeServer) -> None:
    server.world.can.update(whatif=False, apply=False)
    page.reload()
    page.until("document.querySelector('rp-whatif .primary')?.disabled")
    hidden = (
        "[...document.querySelectorAll('rp-whatif button')].find((b) => b.textContent === 'Apply').hidden"
    )
    assert page.evaluate(hidden)


def test_exposure_says_from_which_priority_on_and_what_protects(page: Page, server: FakeServer) -> None:
    at = "2026-01-05T08:00:00Z"
    pod = {
        "namespace": "team-b",
        "name": "etl",
        "uid": "u",
        "priority": 100,
        "preemptableFrom": [{"at": at, "priority": 10_000}],
        "protections": [
            {"minimumPriority": 10_000, "until": None, "reason": "priority class steady tolerates preemption"}
        ],
        "budgets": [{"name": "team-b/etl", "disruptionsAllowed": 0}],
        "unit": "PodGroup/team-b/g",
        "unitPods": 3,
        "podsStopped": 7,
        "openFrom": None,
    }
    server.answers["exposure"] = (200, {"at": at, "pods": [pod], "text": "POD etl"})
    page.press("e")
    row = page.until("document.querySelector('rp-exposure tbody tr')?.textContent")
    assert "10,000" in row
    assert "now" in row
    assert "priority class steady tolerates preemption (priorities below 10,000, while it runs)" in row
    assert "budget team-b/etl (0 allowed)" in row
    assert "with PodGroup/team-b/g (3 pods)" in row
    assert "stops 7 pods" in row
    page.evaluate("document.getElementById('exposure-namespace').value = 'team-b'")
    click(page, "rp-exposure .bar button")
    while server.asked[-1] != ("exposure", "namespace=team-b"):
        drawn(page)


def test_why_has_statements_remedies_and_the_way_to_the_decision(page: Page, server: FakeServer) -> None:
    server.answers["why"] = (
        200,
        {
            "text": "Pod team-b/x was preempted.\n\nmore",
            "statements": [{"topic": "Decision", "text": "It was d-317.", "source": "Decision"}],
            "remedies": [{"text": "A higher priority.", "how": "priorityClassName: urgent"}],
            "notes": ["That is all."],
        },
    )
    page.press("y")
    page.type("team-b/x")
    page.press("Enter")
    page.until("document.querySelector('rp-why .lead')?.textContent === 'Pod team-b/x was preempted.'")
    assert server.asked == [("why", "pod=team-b/x")]
    assert texts(page, "rp-why .how") == ["priorityClassName: urgent"]
    page.seen.errors.clear()
    # The id in the sentence leads to the decision.
    click(page, "rp-why .statements .link")
    page.until("document.querySelector('rp-decision-view h2')?.textContent === 'Decision d-317'")


def test_an_overlay_stays_when_the_page_loads_the_picture_again(
    page: Page, server: FakeServer, world: World
) -> None:
    overlay = {"victims": [world.on("gpu8-0")[0].uid], "spared": [], "placements": []}
    server.answers["whatif"] = (200, {**REPORT, "victims": [], "overlay": overlay})
    ask(page, "kind: Pod")
    page.until("document.querySelector('rp-cluster .note').textContent.startsWith('What-if: 1 victim')")
    server.revision += 3  # the stream has a hole: the page loads the picture
    server.change(world.decide(summary(801)))
    page.until("document.querySelector('.decisions > li').dataset.id === 'd-801'")
    assert text(page, "rp-cluster .note").startswith("What-if: 1 victim")


def test_the_map_says_what_it_shows_before_the_next_frame(page: Page) -> None:
    said = page.evaluate(
        "(document.dispatchEvent(new CustomEvent('show-overlay', { detail: {} })),"
        " document.querySelector('rp-cluster .note').textContent)"
    )
    assert said.startswith("What-if: 0 victims, 0 pods to place.")


def test_what_does_not_fit_says_of_each_node_how_near_it_is(
    page: Page, server: FakeServer, world: World
) -> None:
    free = {
        name: node.allocatable[0] - sum(p.requests[0] for p in world.on(name))
        for name, node in world.nodes.items()
    }
    nearest = max(free, key=lambda name: free[name])
    text_of = f"{nearest} is short of cpu by 1"
    miss = {
        "pod": {"uid": "new"},
        "placed": 0,
        "needed": 1,
        "node": nearest,
        "resource": "cpu",
        "short": 1000,
    }
    reason = {"code": "InsufficientResource", "text": "it has insufficient cpu left"}
    excluded = [{"name": name, "because": reason} for name in world.nodes]
    overlay: dict[str, list[str]] = {"victims": [], "spared": [], "placements": []}
    more = {"miss": {**miss, "nodes": 1, "kept": 0, "because": {"text": text_of}}, "excluded": excluded}
    server.answers["whatif"] = (
        200,
        {**REPORT, "outcome": "Unschedulable", "placements": [], "overlay": overlay, **more},
    )
    before = pixel(page, "gpu8-0", 0.5, 0.02)
    ask(page, "kind: Pod")
    page.until("!!document.querySelector('.outcome.unschedulable')")
    assert text(page, "rp-cluster .note") == f"What-if: it does not fit. Nearest: {text_of}."
    assert "it has insufficient cpu left" in text(page, "rp-whatif .result table")
    assert "60 nodes that cannot take it" in text(page, "rp-whatif .result table")
    drawn(page)
    page.evaluate(f"document.querySelector('rp-cluster').pin({nearest!r})")
    page.until("document.querySelector('rp-lens .near')?.textContent === 'Short of 1 cpu.'")
    page.evaluate("document.querySelector('rp-cluster').pin('cpu16-0')")
    page.until("document.querySelector('rp-lens .near')?.textContent.startsWith('Too small by ')")
    page.press("Escape", "Escape", "Escape")
    drawn(page)
    assert pixel(page, "gpu8-0", 0.5, 0.02) == before


def test_the_example_is_one_of_the_server_and_is_asked_at_once(page: Page, server: FakeServer) -> None:
    server.answers["example"] = (200, {"yaml": "kind: Pod"})
    server.answers["whatif"] = (200, {**REPORT, "outcome": "Fits", "overlay": {}})
    page.press("w")
    page.evaluate(EXAMPLE)
    page.until("!!document.querySelector('.outcome.fits')")
    assert server.asked == [("example", ""), ("whatif", "kind: Pod")]
    assert page.evaluate("document.getElementById('whatif-yaml').value") == "kind: Pod"


def test_why_says_of_what_is_gone_what_would_have_protected_it(page: Page, server: FakeServer) -> None:
    remedies = [{"text": "A higher priority.", "how": None}]
    for state, heading in (
        ("Preempted", "What would have protected it"),
        ("Pending", "What would let it run"),
    ):
        answer = {"text": f"It is {state}.", "state": state, "statements": [], "remedies": remedies}
        server.answers["why"] = (200, answer)
        page.press("y")
        page.evaluate("document.getElementById('why-key').select()")
        page.type("team-b/x")
        page.press("Enter")
        page.until(f"document.querySelector('rp-why .lead')?.textContent === 'It is {state}.'")
        assert text(page, "rp-why h3").startswith(heading)


def test_names_are_completed(page: Page, server: FakeServer, world: World) -> None:
    """Also a name without its namespace, if there is only one."""
    server.answers["why"] = (200, {"text": "So it is.", "statements": []})
    alone = next(pod for pod in world.pods.values() if pod.group is None and pod.node)
    name = alone.key.partition("/")[2]
    page.press("y")
    page.type(name[:5])
    offered = page.until("[...document.querySelectorAll('#why-names option')].map((o) => o.value)")
    assert alone.key in offered or len(offered) == 50
    page.evaluate("document.getElementById('why-key').select()")
    page.type(name)
    page.press("Enter")
    page.until("!!document.querySelector('rp-why .lead')")
    assert server.asked == [("why", f"pod={alone.key}")]
    page.evaluate("document.querySelector('rp-why select').value = 'group'")
    page.evaluate("document.getElementById('why-key').select()")
    page.type("eval")
    page.until("document.querySelector('#why-names option')?.value === 'team-c/eval'")
