"""The scrubber: the past as the journal has it, and back to live without a gap."""

from tests.browser.devtools import Page
from tests.browser.fake_server import FakeServer
from tests.browser.reading import decisions, in_order, known, numbers, text, told
from tests.browser.scripted import NOW, Pod, World, summary
from tests.browser.test_cluster_view import at_revision
from tests.browser.test_decisions import open_decision


def slide(page: Page, seconds: int) -> None:
    page.until("document.querySelectorAll('rp-scrubber svg rect').length > 0")
    page.evaluate(
        "(() => { const slider = document.querySelector('rp-scrubber input');"
        f" slider.value = {seconds}; slider.dispatchEvent(new Event('input')); }})()"
    )


def test_it_shows_the_past_and_returns_to_what_happened_meanwhile(
    page: Page, server: FakeServer, world: World
) -> None:
    server.remember(NOW - 3000)
    server.change(world.decide(summary(318)), world.put(Pod("team-a/later", 0, [1, 1, 0], "cpu16-0")))
    at_revision(page, server)
    pods = len(world.pods)
    slide(page, 1200)
    page.until("document.getElementById('connection').textContent === 'looking back'")
    assert numbers(page)["pods"] == str(pods - 1)
    assert text(page, "rp-scrubber .live") == "Back to live"
    server.change(world.put(Pod("team-a/meanwhile", 0, [1, 1, 0], "cpu16-0")))
    page.press("l")
    page.until(f"document.querySelector('#numbers [data-name=pods] dd').textContent === '{pods + 1}'")
    assert known(page) == told(world, server.revision)
    assert text(page, "#connection") == "live"


def test_what_is_before_the_first_keyframe_is_empty(page: Page, server: FakeServer) -> None:
    slide(page, 5)
    page.until("document.querySelector('#numbers [data-name=pods] dd').textContent === '0'")
    assert numbers(page)["pending"] == "0"


def test_preemptions_per_minute_are_a_plot_and_a_table(page: Page) -> None:
    bars = page.until("document.querySelectorAll('rp-scrubber svg rect').length")
    assert bars == page.evaluate("document.querySelectorAll('rp-scrubber rp-table tbody tr').length")
    label = page.evaluate("document.querySelector('rp-scrubber svg').getAttribute('aria-label')")
    assert label.startswith("Preemptions per minute from")


def test_a_journal_without_its_beginning_says_since_when_it_knows(page: Page, server: FakeServer) -> None:
    server.world.known_since = NOW - 3500
    page.reload()
    page.until("document.querySelector('rp-scrubber .end')?.textContent.startsWith('known since')")


def test_without_a_journal_it_says_so(page: Page, server: FakeServer) -> None:
    server.world.can["history"] = False
    page.reload()
    page.until("document.querySelector('rp-scrubber .note')?.textContent.startsWith('This is the present.')")
    assert page.evaluate("document.querySelector('rp-scrubber .time').hidden")


def ended(world: World) -> tuple[Pod, str]:
    """A decision whose victim is gone since."""
    victim = Pod("team-b/victim", 0, [1_000, 1_024, 1], "gpu8-3")
    world.put(victim)
    found = world.decide(summary(400, time=NOW - 1800, nodes=["gpu8-3"]))["decision"]
    room = {
        "victims": [
            {
                "pod": {"namespace": "team-b", "name": "victim", "uid": victim.uid},
                **{"node": "gpu8-3", "priority": 0, "unit": "Pod/team-b/victim"},
                "because": {"text": "gpu8-3 is short of nvidia.com/gpu by 1"},
            }
        ],
        **{"pods": 1, "spared": [], "unitsSpared": 0, "podsSpared": 0, "losers": [], "plans": 1},
    }
    world.details["d-400"] = {"id": "d-400", "preemption": room, "findings": [], "stages": []}
    return victim, found["id"]


def test_a_finished_decision_opens_on_the_cluster_as_it_was(
    page: Page, server: FakeServer, world: World
) -> None:
    victim, name = ended(world)
    server.remember(NOW - 1800)
    later = world.decide(summary(401))
    server.change({"pod": victim.row()}, {"decision": world.decisions[name]}, later, world.remove(victim))
    at_revision(page, server)
    page.until("document.querySelectorAll('rp-scrubber svg rect').length > 0")
    open_decision(page, name)
    page.until("document.getElementById('connection').textContent === 'looking back'")
    page.until("document.querySelector('#victims-of .state')?.textContent === '■ running'")
    assert page.evaluate(f"document.querySelector('rp-cluster').picture.pods.has({victim.uid!r})")
    assert page.evaluate("document.querySelector('rp-scrubber input').value") == "1800"  # the clock is there
    assert text(page, "rp-decision-view .place").startswith("The map shows the cluster as it was at ")
    assert decisions(page) == in_order(world)  # those after it can still be chosen
    server.change(world.decide(summary(402)))
    page.until("!!document.querySelector('.decisions [data-id=\"d-402\"]')")  # also new ones
    page.press("Escape")
    page.until("document.getElementById('connection').textContent === 'live'")
    open_decision(page, "d-317")  # it goes on
    assert text(page, "#connection") == "live"


def test_without_a_history_a_finished_decision_says_so(page: Page, server: FakeServer, world: World) -> None:
    world.can["history"] = False
    _, name = ended(world)
    page.reload()
    page.until("document.querySelector('rp-scrubber .note')?.textContent.startsWith('This is the present.')")
    open_decision(page, name)
    said = "The map shows the present, not the cluster as it was then: this cluster keeps no history"
    assert text(page, "rp-decision-view .place").startswith(said)


def test_a_decision_from_before_the_history_says_so(page: Page, server: FakeServer, world: World) -> None:
    server.change(world.decide(summary(400, time=NOW - 7200)))
    page.until("!!document.querySelector('.decisions [data-id=\"d-400\"]')")
    open_decision(page, "d-400")
    assert "then: the history begins at " in text(page, "rp-decision-view .place")
