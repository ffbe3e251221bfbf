"""Modules that are pure, called in the browser that runs them."""

import json
import random
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.background import Background
from tests.browser.devtools import Browser, Page
from tests.browser.fake_server import FakeServer
from tests.browser.scripted import World


@pytest.fixture(scope="module")
def blank(browser: Browser, background: Background) -> Iterator[Page]:
    server = FakeServer(background, World())
    page = browser.page()
    page.open(server.address)
    page.until("document.readyState === 'complete'")
    yield page
    page.close()
    server.close()


def call(page: Page, module: str, body: str) -> Any:
    """``body`` is a function of the module's exports."""
    return page.evaluate(f"import('./static/{module}').then(({body}))")


def test_events_arrive_whole_however_the_stream_is_cut(blank: Page) -> None:
    stream = ': alive\n\nid: 1\ndata: {"a":1}\n\nevent: reload\ndata: x\ndata: y\n\r\n:\n\n'
    whole = [
        {"type": "message", "id": "1", "data": '{"a":1}'},
        {"type": "reload", "id": None, "data": "x\ny"},
    ]
    for size in range(1, len(stream) + 1):
        pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
        body = f"(m) => {{ const parse = m.streamParser(); return {json.dumps(pieces)}.flatMap(parse); }}"
        assert call(blank, "client.js", body) == whole, size


def test_groups_in_a_circle_have_an_end_and_hidden_units_have_no_pods(blank: Page) -> None:
    groups = "new Map([['a', {key: 'a', parent: 'b'}], ['b', {key: 'b', parent: 'a'}]])"
    picture = f"{{ groups: {groups}, podsOf: (key) => [key + '-pod'], podByKey: () => 'any' }}"
    assert call(blank, "picture.js", f"(m) => m.membersOf({picture}, 'a')") == ["a-pod", "b-pod"]
    assert call(blank, "picture.js", f"(m) => m.podsOfUnit({picture}, 'Pod/')") == []


def test_what_waits_is_gathered_by_tree(blank: Page) -> None:
    """Also if the outermost group is not known, or groups are in each other."""
    groups = """new Map([["t/lead", {key: "t/lead", parent: "CompositePodGroup t/job"}],
        ["t/work", {key: "t/work", parent: "CompositePodGroup t/mid"}],
        ["CompositePodGroup t/mid", {key: "CompositePodGroup t/mid", parent: "CompositePodGroup t/job"}],
        ["t/odd", {key: "t/odd", parent: "CompositePodGroup t/a"}],
        ["CompositePodGroup t/a", {key: "CompositePodGroup t/a", parent: "CompositePodGroup t/a"}],
        ["t/flat", {key: "t/flat", parent: null}]])"""
    pods = ["lead", "work", "work", "odd", "flat"]
    pending = [
        {"uid": str(i), "key": f"t/{name}-{i}", "group": f"t/{name}", "priority": 9, "reason": name}
        for i, name in enumerate(pods)
    ]
    waiting = json.dumps([{**pod, "nominated": None} for pod in pending])
    body = f"(m) => m.waiting({{ groups: {groups}, pending: new Set({waiting}) }})"
    found = [(one["key"], len(one["pods"]), one["parts"]) for one in call(blank, "pending.js", body)]
    assert found == [
        ("CompositePodGroup t/job", 3, [["t/lead", 1], ["t/work", 2]]),
        ("CompositePodGroup t/a", 1, [["t/odd", 1]]),
        ("t/flat", 1, []),
    ]


def test_words_of_a_command_stay_words(blank: Page) -> None:
    """Names in a snapshot of unknown origin may be anything, and commands are pasted into a shell."""
    words = ["pod/web-0", "d-12ab", "x; rm -rf /", "it's $(x)", "", "`x`"]
    quoted = call(blank, "clipboard.js", f"(m) => {json.dumps(words)}.map(m.quoted)")
    assert shlex.split(" ".join(quoted)) == words
    assert quoted[:2] == words[:2]


def test_priorities_are_spread_over_the_levels(blank: Page) -> None:
    def levels(priorities: list[int]) -> list[int]:
        found: list[int] = call(
            blank, "bands.js", f"(m) => {{ const p = {priorities}; return p.map(m.scaleOf(p).of); }}"
        )
        return found

    assert levels([100]) == [1]
    assert levels([-10, 1000]) == [1, 4]  # there is room for others
    assert levels([1, 2, 3, 4, 5, 6]) == [0, 1, 2, 3, 4, 5]
    many = levels(list(range(100)))
    assert many == sorted(many)
    assert set(many) == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize("seed", range(6))
def test_every_node_has_one_tile_and_no_two_overlap(blank: Page, seed: int) -> None:
    chance = random.Random(seed)
    sections = [
        {"name": f"pool-{i}", "nodes": [f"n-{i}-{j}" for j in range(chance.choice((1, 3, 17, 200, 900)))]}
        for i in range(chance.randrange(1, 9))
    ]
    width, height = chance.randrange(320, 1600), chance.randrange(200, 900)
    zoom = chance.choice((0, 0, 3))
    layout = call(
        blank,
        "layout.js",
        f"(m) => {{ const l = m.layOut({json.dumps(sections)}, {width}, {height}, {zoom});"
        " return { ...l, tileOf: Object.fromEntries(l.tileOf) }; }",
    )
    placed = [name for tile in layout["tiles"] for name in tile["nodes"]]
    assert placed == [name for section in sections for name in section["nodes"]]
    assert all(name in layout["tiles"][number]["nodes"] for name, number in layout["tileOf"].items())
    spots = {(tile["x"], tile["y"]) for tile in layout["tiles"]}
    assert len(spots) == len(layout["tiles"])
    for one in layout["tiles"][:200]:
        for other in layout["tiles"][:200]:
            apart = abs(one["x"] - other["x"]), abs(one["y"] - other["y"])
            beside = apart[0] >= one["width"] or apart[1] >= one["height"]
            assert one is other or beside, (one, other)
    if zoom == 0 and layout["perTile"] == 1:
        assert layout["height"] <= height
    assert all(tile["x"] + tile["width"] <= width for tile in layout["tiles"])


def test_arrow_keys_lead_to_the_tile_that_is_seen_there(blank: Page) -> None:
    body = """(m) => {
      const l = m.layOut([{ name: "a", nodes: [..."abcdefgh"] }], 400, 300);
      const down = m.neighbour(l, 0, "ArrowDown");
      const below = l.tiles[down].x === l.tiles[0].x && l.tiles[down].y > l.tiles[0].y;
      return [m.neighbour(l, 0, "ArrowRight"), below, m.neighbour(l, down, "ArrowUp"),
        m.neighbour(l, 0, "ArrowLeft"), m.neighbour(l, 0, "End"), m.neighbour(l, 7, "Home"),
        m.tileAt(l, l.tiles[5].x + 1, l.tiles[5].y + 1), m.tileAt(l, 0, 0)];
    }"""
    assert call(blank, "layout.js", body) == [1, True, 0, 0, 7, 0, 5, -1]


def test_text_of_times_and_amounts(blank: Page) -> None:
    body = """(m) => [m.span(5), m.span(90), m.span(3700), m.amount("cpu", 1500), m.amount("memory", 1536),
      m.amount("memory", 512), m.amount("nvidia.com/gpu", 3), m.plural(1, "pod"), m.plural(2000, "pod"),
      m.shownKey("", "u-1"), m.spaced("PlacedElsewhere"),
      m.costWords({ HighestPriority: 5, PodsStopped: null })]"""
    assert call(blank, "words.js", body) == [
        *("5 s", "1 min 30 s", "1 h 1 min"),
        *("1.5 cpu", "1.5 GiB", "512 MiB", "3 gpu"),
        *("1 pod", "2,000 pods", "(hidden) u-1", "placed elsewhere"),
        "highest priority 5, pods stopped unknown",
    ]
