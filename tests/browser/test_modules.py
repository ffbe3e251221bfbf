"""Modules that are pure, called in the browser that runs them."""

import itertools
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


def test_a_priority_keeps_its_level_while_others_come_and_go(blank: Page) -> None:
    body = """(m) => {
      let scale = m.scaleOf([0]);
      const seen = [];
      for (const now of [[0, 1000], [0, 500, 1000], [-10, 0, 500, 1000, 9000], [9000], [-10, 9000]]) {
        scale = m.scaleOf(now, scale.levels);
        seen.push([-10, 0, 500, 1000, 9000].map((one) => (scale.levels.has(one) ? scale.of(one) : null)));
      }
      return seen;
    }"""
    seen = call(blank, "bands.js", body)
    for before, after in itertools.pairwise(seen):
        assert all(then in (None, now) for then, now in zip(before, after, strict=True))
    assert seen[-1] == sorted(seen[-1])
    assert len(set(seen[-1])) == 5  # each has a colour of its own


@pytest.mark.parametrize("seed", range(4))
def test_every_pod_has_a_height_and_none_is_beyond_the_tile(blank: Page, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(25):
        count, size, line = chance.randrange(1, 40), chance.randrange(26, 320), chance.choice((4, 14))
        raw = [chance.choice((0, 0, 0.01, 1, 5)) for _ in range(count)]
        full = chance.choice((0.3, 1, 1))
        shares = [full * one / sum(raw) if sum(raw) else 0 for one in raw]
        heights = call(blank, "bands.js", f"(m) => m.heightsOf({json.dumps(shares)}, {size}, {line})")
        assert sum(heights) <= size + 1e-6
        assert min(heights) >= min(line, 0.9 * size / count) - 1e-6
        pairs = sorted(zip(shares, heights, strict=True))
        assert [high for _, high in pairs] == pytest.approx(sorted(heights))  # more is never lower


def test_the_resource_that_is_shown_is_one_that_something_uses(blank: Page) -> None:
    body = """(m) => {
      const picture = (pods) => ({
        resources: ["cpu", "memory", "x/gpu"],
        nodes: new Map([["n", { name: "n", pool: "p", allocatable: [100, 100, 8] }]]),
        podsOn: () => pods.map((requests) => ({ requests, state: 1 })),
      });
      const shown = (pods, before) => m.shownRows(picture(pods), "automatic", new Map(before ?? [])).get("p");
      return [shown([]), shown([[5, 1, 0]]), shown([[1, 50, 0]]), shown([[90, 1, 1]]),
        shown([[52, 50, 0]], [["p", 1]]), shown([[60, 50, 0]], [["p", 1]]), shown([], [["p", 2]])];
    }"""
    assert call(blank, "bands.js", body) == [0, 0, 1, 2, 1, 0, 2]


def test_names_of_pods_tell_what_made_them(blank: Page) -> None:
    names = ["d/web-7c5ddbdf54-x2x9z", "d/web-3", "d/job-2-x2x9z", "d/etl", "d/app-proxy", ""]
    found = call(blank, "folding.js", f"(m) => {json.dumps(names)}.map(m.workloadOf)")
    assert found == ["d/web", "d/web", "d/job", "d/etl", "d/app-proxy", ""]


def test_a_few_nodes_use_the_height_that_there_is(blank: Page) -> None:
    nodes = json.dumps([{"name": "gpu", "nodes": [f"gpu-{i}" for i in range(8)]}])
    for width, height in ((880, 620), (880, 240), (360, 500)):
        body = f"(m) => {{ const l = m.layOut({nodes}, {width}, {height}); return [l.height, l.tiles[0]]; }}"
        used, tile = call(blank, "layout.js", body)
        assert used <= height
        assert used >= 0.85 * height, (width, height)
        assert tile["height"] >= tile["width"]


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
