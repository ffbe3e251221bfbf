"""For all readers: keyboard alone, a screen reader, either theme, and no motion where none is wanted."""

import itertools

import pytest

from tests.browser.conftest import SHOWN
from tests.browser.devtools import Browser, Page
from tests.browser.fake_server import FakeServer
from tests.browser.reading import click, colour, text, texts
from tests.browser.scripted import World
from tests.browser.test_cluster_view import drawn
from tests.browser.test_decisions import open_decision

TEXT_CONTRAST = 4.5  # WCAG AA
SHAPE_CONTRAST = 3.0
SHADE_CONTRAST = 1.5  # of what lies beside each other on the map


def focused(page: Page) -> str:
    found: str = page.evaluate(
        "(() => { const e = document.activeElement;"
        " return e.id || e.getAttribute('aria-label') || e.textContent.trim(); })()"
    )
    return found


def test_a_screen_reader_meets_everything(page: Page) -> None:
    page.until("document.querySelectorAll('rp-scrubber svg rect').length > 0")
    met = page.accessible()
    roles = {role for role, _ in met}
    assert {"banner", "main", "complementary", "tablist", "table", "slider", "application"} <= roles
    names = [name for _, name in met]
    assert "Nodes and what is free on them" in names
    assert "Preemptions per minute" in names
    for role in ("button", "combobox", "textbox", "slider", "tab", "link", "image", "application"):
        assert [name for met_role, name in met if met_role == role and not name.strip()] == []


def test_the_table_beside_the_map_has_the_same_numbers(page: Page, world: World) -> None:
    rows = page.evaluate(
        "[...document.querySelectorAll('rp-cluster rp-table tbody tr')]"
        ".map((r) => [...r.children].map((c) => c.textContent))"
    )
    assert len(rows) == 50
    for name, pool, zone, state, pods, leaving, nominated, *free in rows:
        node = world.nodes[name]
        there = world.on(name)
        assert (pool, zone) == (node.pool, node.zone)
        assert state == ", ".join(
            ["ready" if node.ready else "not ready", *(["cordoned"] if node.cordoned else [])]
        )
        assert int(pods) == len(there)
        assert int(leaving) == sum(pod.state in (2, 3) for pod in there)
        assert int(nominated) == sum(pod.nominated == name for pod in world.pods.values())
        assert free[2] == f"{node.allocatable[2] - sum(pod.requests[2] for pod in there)} gpu"


def test_all_of_it_by_keyboard(page: Page) -> None:
    """From the map to a node, to one of its pods, to its group; then a decision, and back."""
    page.press("c")
    for key in ("End", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.press(key)
    said = page.until("document.getElementById('announcements').textContent")
    assert said.startswith("gpu8-22: ")
    page.press("Enter")
    page.until("document.activeElement.classList.contains('pod')")
    page.press("Enter")
    page.until("!document.querySelector('rp-cluster .clear').hidden")
    page.press("Escape", "Escape")
    page.until("document.querySelector('rp-cluster .clear').hidden")
    page.press("d", "Tab", "Tab")
    page.until("document.activeElement.closest('.decisions') !== null")
    page.press("Enter")
    page.until("!document.querySelector('rp-decision-view').hidden")
    page.press("]", "[")
    page.until("document.querySelector('rp-decision-view h2')?.textContent === 'Decision d-316'")
    page.press("Escape")
    page.until("document.querySelector('rp-decision-view').hidden")
    page.press("?")
    page.until("document.querySelector('dialog.keys').open")


def test_tab_reaches_every_part_and_goes_round(page: Page) -> None:
    seen: list[str] = []
    for _ in range(60):
        page.press("Tab")
        seen.append(focused(page))
    wanted = (
        "open-search",
        "open-keys",
        "theme",
        "tab-decisions",
        "Time",
        "Play from here",
        "Table",
        "Group by",
    )
    assert [name for name in wanted if name not in seen] == []


def test_a_table_is_seen_as_soon_as_it_has_the_focus(page: Page) -> None:
    high = "document.querySelector('rp-cluster rp-table').getBoundingClientRect().height"
    assert page.evaluate(high) <= 1
    page.evaluate("document.querySelector('rp-cluster rp-table button').focus()")
    assert page.evaluate(high) > 100


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_shapes_are_told_from_their_ground(page: Page, scheme: str) -> None:
    page.prefer(prefers_color_scheme=scheme)
    for ground in ("paper", "panel"):
        for ink in ("ink", "muted", "link", "accent"):
            assert contrast(colour(page, ink), colour(page, ground)) >= TEXT_CONTRAST, (ink, ground)
        for shape in ("leaving", "nominated", "spared", "level-5"):
            assert contrast(colour(page, shape), colour(page, ground)) >= SHAPE_CONTRAST, (shape, ground)
    assert contrast(colour(page, "warn-ink"), colour(page, "warn")) >= TEXT_CONTRAST
    levels = [luminance(colour(page, f"level-{level}")) for level in range(6)]
    assert levels == sorted(levels, reverse=scheme == "light")  # told apart without hue
    shades = [colour(page, name) for name in ("free", *(f"level-{level}" for level in range(6)))]
    for one, other in itertools.pairwise(shades):
        assert contrast(one, other) >= SHADE_CONTRAST, (one, other)
    inks = page.evaluate(f"import('./static/colours.js').then((m) => {shades[1:]}.map(m.inkOn))")
    for ink, shade in zip(inks, shades[1:], strict=True):
        assert contrast(ink, shade) >= TEXT_CONTRAST, shade


def test_the_theme_button_goes_against_the_system_and_is_remembered(page: Page, server: FakeServer) -> None:
    page.prefer(prefers_color_scheme="light")
    light = colour(page, "paper")
    page.press("m")
    dark = colour(page, "paper")
    assert luminance(dark) < 0.05 < luminance(light)
    page.reload()
    page.until(SHOWN)
    assert colour(page, "paper") == dark
    page.press("m")
    assert colour(page, "paper") == light
    page.press("m")
    drawn(page)
    assert text(page, "#theme") == "◐"


def test_nothing_moves_where_no_motion_is_wanted(browser: Browser, server: FakeServer) -> None:
    page = browser.page()
    page.prefer(prefers_reduced_motion="reduce")
    page.open(f"{server.address}#token={server.token}")
    page.until(SHOWN)
    assert page.evaluate("document.getAnimations().length") == 0
    page.close()


def test_a_narrow_screen_has_all_of_it(page: Page) -> None:
    page.resize(420, 800)
    page.until("document.querySelector('.right').getBoundingClientRect().top > 500")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert texts(page, "#tab-decisions") == ["Decisions"]


def test_on_a_phone_a_tapped_decision_is_in_view_and_its_table_scrolls_inside(page: Page) -> None:
    page.resize(390, 844)
    high, items = page.evaluate(
        "(() => { const top = document.querySelector('.top');"
        " const tops = [...top.querySelectorAll('h1, .connection, .actions')]"
        ".map((e) => e.getBoundingClientRect().top); return [top.offsetHeight, tops]; })()"
    )
    assert high < 56  # one line
    assert max(items) - min(items) < 30
    click(page, ".decisions [data-id='d-317'] button")
    page.until("document.querySelectorAll('#victims-of tbody tr').length > 0")
    seen = "document.querySelector('rp-decision-view').getBoundingClientRect().top"
    page.until(f"Math.abs({seen}) < 100")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wide, inner = page.evaluate(
        "(() => { const e = document.querySelector('#victims-of .wide');"
        " return [e.clientWidth, e.scrollWidth]; })()"
    )
    assert wide <= 390 < inner


def test_every_control_has_a_tooltip(page: Page) -> None:
    open_decision(page, "d-317")
    page.evaluate("document.querySelector('rp-cluster').pin('gpu8-3')")
    for key in ("p", "w", "e", "y"):
        page.press(key)
    bare = page.evaluate(
        "[...document.querySelectorAll('.top button, .bar button, .bar select, .controls button,"
        " #panels button, .copies button, rp-lens .close, rp-scrubber input')]"
        ".filter((e) => !e.title).map((e) => e.outerHTML)"
    )
    assert bare == []


def luminance(shown: str) -> float:
    parts = [int(shown[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
