"""Names stay text, the policy is never violated, and no request leaves for another host: in every view."""

from pathlib import Path

from tests.browser.devtools import Browser, Page
from tests.browser.fake_server import STATIC, FakeServer
from tests.browser.reading import click, decisions, text, texts
from tests.browser.scripted import NOW, PENDING, Node, Pod, World, summary

HOSTILE = "<img src=http://example.org/x onerror=document.body.dataset.hacked=1>"
SCRIPT = "<script>document.body.dataset.hacked = 1</script>"
NASTY = (
    HOSTILE,
    SCRIPT,
    "javascript:alert(1)",
    "\u202eevil\u202c",
    '"></td><td>',
    "${1+1}{{1+1}}",
    "a" * 300,
)


def every_view(page: Page) -> None:
    """Each panel, the decision, the card of a node, the table, search and keys."""
    for key in ("p", "w", "Escape", "e", "y", "Escape", "d", "t", "t", "?"):
        page.press(key)
    page.until("document.querySelector('dialog.keys').open")
    page.press("Escape")
    page.until("!document.querySelector('dialog[open]')")
    page.press("/")
    page.type("a")
    page.until("document.querySelector('dialog.search').open")
    page.press("Escape")
    page.until("!document.querySelector('dialog[open]')")
    page.press("c", "ArrowRight", "Enter", "Escape", "+", "-", "[")
    page.until("!document.querySelector('rp-decision-view').hidden")


def test_hostile_names_stay_text(page: Page, server: FakeServer, world: World) -> None:
    changes = []
    for number, name in enumerate(NASTY):
        node, group = f"{name}-node", f"ns/{name}-group"
        changes += [
            world.add_node(Node(node, name, name, [4_000, 4_096, 0])),
            world.add_group(group, number, 2),
            world.put(Pod(f"ns/{name}", number, [1_000, 1_024, 0], node, group)),
            world.put(Pod(f"ns/{name}-waits", number, [1_000, 1_024, 0], None, None, PENDING, node, name)),
            world.decide(
                summary(
                    900 + number,
                    demand={"kind": name, "key": f"ns/{name}", "priority": number, "pods": 1},
                    why=name,
                    ended=name,
                    nodes=[node],
                )
            ),
        ]
        world.details[f"d-{900 + number}"] = hostile_detail(world.decisions[f"d-{900 + number}"], name, node)
    exposed = {"namespace": HOSTILE, "name": SCRIPT, "uid": "u", "priority": 1, "preemptableFrom": []}
    server.answers["exposure"] = (200, {"at": "", "pods": [exposed], "text": HOSTILE})
    server.answers["why"] = (
        200,
        {"text": HOSTILE, "statements": [{"topic": SCRIPT, "text": HOSTILE, "source": SCRIPT}]},
    )
    server.answers["whatif"] = (400, {"message": HOSTILE})
    server.change(*changes)
    page.until(f"document.querySelector('.decisions > li').dataset.id === 'd-{899 + len(NASTY)}'")
    every_view(page)
    for number, name in enumerate(NASTY):
        click(page, f".decisions [data-id='d-{900 + number}'] button")
        page.until(
            f"document.querySelector('rp-decision-view h2')?.textContent === 'Decision d-{900 + number}'"
        )
        assert texts(page, "#victims-of tbody th") == [f"ns/{name}"]
    page.press("Escape", "p")
    page.until("document.querySelectorAll('.pending .third').length > 0")
    assert HOSTILE in texts(page, ".pending .third")
    page.press("w")
    page.type("x")
    page.press("Control+Enter")
    page.until("!!document.querySelector('rp-whatif .failure')")
    assert text(page, "rp-whatif .failure") == HOSTILE
    page.press("Escape", "y")
    page.type("ns/x")
    page.press("Enter")
    page.until("!!document.querySelector('rp-why .lead')")
    assert text(page, "rp-why .lead") == HOSTILE
    assert page.evaluate("document.body.dataset.hacked") is None
    assert page.evaluate("document.querySelectorAll('img').length") == 1  # the icon at the top


def hostile_detail(found: dict[str, object], name: str, node: str) -> dict[str, object]:
    because = {"code": name, "text": name}
    victim = {
        "pod": {"kind": name, "namespace": "ns", "name": name, "uid": f"uid-ns/{name}"},
        "node": node,
        "priority": 1,
        "unit": f"PodGroup/{name}",
        "budgets": [name],
        "because": because,
    }
    loser = {"domain": node, "pods": 1, "highest": 1, "broken": 0, "units": [name], "unitCount": 1}
    return {
        "id": found["id"],
        "stages": [{"stage": "nominated", "time": NOW}],
        "preemption": {
            "victims": [victim],
            "pods": 1,
            "spared": [{"unit": f"Pod/ns/{name}", "pods": 1, "priority": 1, "because": because}],
            "unitsSpared": 1,
            "podsSpared": 1,
            "losers": [{**loser, "lostBy": because}],
            "plans": 2,
        },
        "findings": [{"reason": because, "nodes": 1, "examples": [node]}],
        "cli": name,
        "text": name,
    }


def test_no_view_violates_the_policy(page: Page) -> None:
    """The fixture looks at what the browser complained about, and at the hosts of all requests."""
    every_view(page)


def test_a_violation_would_be_seen(browser: Browser, server: FakeServer) -> None:
    """Or the tests above would prove nothing."""
    page = browser.page()
    page.open(server.address)
    page.until("document.readyState === 'complete'")
    page.evaluate("document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/x.png' }))")
    page.evaluate("document.body.setAttribute('style', 'color: red')")
    page.until("true")
    assert any("Content Security Policy" in error for error in page.seen.errors)
    markup = (
        "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'set' } catch (e) { return e.name } })()"
    )
    assert page.evaluate(markup) == "TypeError"
    page.close()


def test_without_a_token_it_says_what_to_do(browser: Browser, server: FakeServer) -> None:
    page = browser.page()
    page.open(server.address)
    page.until("document.getElementById('connection')?.dataset.state === 'ended'")
    assert text(page, "#banner") == "No access: the token is not valid.TokenUse"
    assert page.evaluate("document.querySelector('main').hidden")  # and nothing else
    assert decisions(page) == []
    assert page.seen.errors == []
    page.close()


def test_every_module_is_loaded_and_nothing_else_is_served(page: Page, server: FakeServer) -> None:
    files = {path.name for path in STATIC.iterdir()}
    static = f"{server.address}static/"
    loaded = {url.removeprefix(static) for url in page.seen.requests if url.startswith(static)}
    assert files - loaded == {"index.html"}


def test_every_module_says_which_question_it_answers() -> None:
    for path in sorted(STATIC.glob("*.js")):
        first = path.read_text().splitlines()[0]
        assert first.startswith("// "), path.name
        assert "?" in first, path.name


def test_nothing_names_another_host() -> None:
    allowed = "http://www.w3.org/2000/svg"  # the name of a vocabulary, which no browser fetches
    for path in sorted(Path(STATIC).iterdir()):
        said = path.read_text().replace(allowed, "")
        assert "http://" not in said, path.name
        assert "https://" not in said, path.name
