"""The scrubber: the past as the journal has it, and back to live without a gap."""

from tests.browser.devtools import Page
from tests.browser.fake_server import FakeServer
from tests.browser.reading import known, numbers, text, told
from tests.browser.scripted import NOW, Pod, World, summary
from tests.browser.test_cluster_view import at_revision


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
