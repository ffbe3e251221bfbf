"""The map: what it shows equals what the API says, and only tiles that changed are drawn again."""

import random

from reprieve.model.json import Json
from tests.browser.background import Background
from tests.browser.conftest import SHOWN, opened
from tests.browser.devtools import Browser, Page
from tests.browser.fake_server import FakeServer
from tests.browser.reading import click, colour, known, numbers, pixel, text, texts, told
from tests.browser.scripted import DONE, LEAVING, MARKED, PENDING, RUNNING, Node, Pod, World, large

GPUS = [8_000, 65_536, 1]


def at_revision(page: Page, server: FakeServer) -> None:
    page.until(f"document.querySelector('rp-cluster').picture.revision === {server.revision}")


def drawn(page: Page) -> None:
    """The frame in which the last change is drawn has passed."""
    page.evaluate("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))")


def test_the_numbers_are_those_of_the_cluster(page: Page, world: World) -> None:
    shown = numbers(page)
    pods = world.pods.values()
    assert shown["nodes"] == str(len(world.nodes))
    assert shown["pods"] == str(len(pods))
    assert shown["pending"] == str(sum(pod.state == PENDING for pod in pods))
    assert shown["leaving"] == str(sum(pod.state in (LEAVING, MARKED) for pod in pods))
    offered = sum(node.allocatable[2] for node in world.nodes.values())
    held = sum(pod.requests[2] for pod in pods if pod.node)
    assert shown["gpu"] == f"{100 * held / offered:.0f} %"


def test_it_shows_what_the_api_says_at_fifty_moments(page: Page, server: FakeServer, world: World) -> None:
    chance = random.Random(3)
    for moment in range(50):
        server.change(*(some_change(world, chance, f"{moment}-{n}") for n in range(chance.randrange(1, 12))))
        at_revision(page, server)
        assert known(page) == told(world, server.revision)
    page.press("t")
    page.until("document.querySelectorAll('rp-cluster rp-table tbody tr').length > 0")
    for row in texts(page, "rp-cluster rp-table tbody tr:nth-child(-n+5) th"):
        assert row in world.nodes


def some_change(world: World, chance: random.Random, number: str) -> Json:
    """Pods come, begin to leave, go; nodes come, are cordoned, go; a namesake follows its predecessor."""
    pods, nodes = list(world.pods.values()), list(world.nodes.values())
    match chance.randrange(8):
        case 0:
            priority = chance.choice((0, 50, 77))
            return world.put(Pod(f"team-a/new-{number}", priority, GPUS, chance.choice(nodes).name))
        case 1:
            return world.remove(chance.choice(pods))
        case 2:
            return world.put(chance.choice(pods), state=chance.choice((RUNNING, LEAVING, MARKED, DONE)))
        case 3:
            where = chance.choice(nodes).name
            return world.put(Pod(f"team-b/wait-{number}", 900, GPUS, None, None, PENDING, where, "waits"))
        case 4:
            node = chance.choice(nodes)
            node.cordoned = not node.cordoned
            return world.add_node(node)
        case 5:
            return world.add_node(Node(f"new-{number}", "gpu8-h100", "zone-a", [128_000, 1_048_576, 8]))
        case 6:
            gone = chance.choice([node.name for node in nodes if not world.on(node.name)] or [nodes[0].name])
            if world.on(gone):
                return world.add_group(f"team-a/group-{number}", 10, 2)
            del world.nodes[gone]
            return {"nodeGone": gone}
        case _:
            return world.put(chance.choice(pods), node=chance.choice(nodes).name)


def test_bands_have_the_colour_of_their_priority(page: Page, server: FakeServer, world: World) -> None:
    """From below: the most important, then the others, then what is free."""
    node = world.add_node(Node("probe", "gpu8-h100", "zone-a", [128_000, 1_048_576, 8]))
    half = [32_000, 65_536, 4]
    low, high = Pod("team-a/low", -10, [16_000, 65_536, 2], "probe"), Pod("team-a/high", 1000, half, "probe")
    server.change(node, world.put(low), world.put(high))
    at_revision(page, server)
    drawn(page)
    assert pixel(page, "probe", 0.5, 0.25) == colour(page, "level-5")
    assert pixel(page, "probe", 0.5, 0.65) == colour(page, "level-0")
    assert pixel(page, "probe", 0.5, 0.9) == colour(page, "free")
    server.change(world.put(low, state=LEAVING))
    at_revision(page, server)
    drawn(page)
    # A rim of its own colour, and hatching: a shape as well as a colour.
    assert pixel(page, "probe", 0.01, 0.65) == colour(page, "leaving")
    assert pixel(page, "probe", 0.5, 0.25) == colour(page, "level-5")


def test_only_tiles_that_changed_are_drawn_again(page: Page, server: FakeServer, world: World) -> None:
    drawn(page)
    before = page.evaluate("document.querySelector('rp-cluster').stats.tiles")
    pods = [world.on("gpu8-0")[0], world.on("gpu8-1")[0], world.on("gpu8-1")[1]]
    server.change(*(world.put(pod, state=LEAVING) for pod in pods))
    at_revision(page, server)
    drawn(page)
    assert page.evaluate("document.querySelector('rp-cluster').stats.tiles") - before == 2


def test_the_card_of_a_node_names_its_pods(page: Page, world: World) -> None:
    x, y = page.evaluate(
        """(() => {
          const map = document.querySelector("rp-cluster");
          const tile = map.layout.tiles[map.layout.tileOf.get("gpu8-3")];
          const box = map.querySelector(".scroll").getBoundingClientRect();
          return [box.left + tile.x + tile.width / 2, box.top + tile.y + tile.height / 2];
        })()"""
    )
    page.move(x, y)
    page.until("!document.querySelector('rp-lens').hidden")
    assert text(page, "rp-lens h3") == "gpu8-3"
    page.click(x, y)
    page.until("document.querySelector('rp-lens').classList.contains('pinned')")
    wanted = sorted(world.on("gpu8-3"), key=lambda pod: (-pod.priority, pod.key))
    assert texts(page, "rp-lens .pod:not(.coming) .name") == [pod.key for pod in wanted]
    page.press("Escape")
    page.until("!document.querySelector('rp-lens').classList.contains('pinned')")


def test_a_group_lights_up_together(page: Page, world: World) -> None:
    members = [pod for pod in world.pods.values() if pod.group == "team-c/eval"]
    alone = next(pod for pod in world.pods.values() if pod.node and pod.node.startswith("cpu16"))
    before = pixel(page, alone.node or "", 0.5, 0.05)
    page.press("/")
    page.type(members[0].key)
    page.until(f"document.querySelector('dialog.search li')?.textContent.includes({members[0].key!r})")
    page.press("Enter")
    page.until("document.querySelector('rp-cluster .note').textContent.includes('Group team-c/eval')")
    nodes = {pod.node for pod in members}
    assert f"{len(members)} pods on {len(nodes)} nodes" in text(page, "rp-cluster .note")
    drawn(page)
    assert pixel(page, alone.node or "", 0.5, 0.05) != before
    page.press("Escape", "Escape")
    page.until("!document.querySelector('rp-cluster .note').textContent.includes('Group')")
    drawn(page)
    assert pixel(page, alone.node or "", 0.5, 0.05) == before


def test_a_tree_lights_up_together(page: Page, server: FakeServer, world: World) -> None:
    root = "CompositePodGroup team-c/job"
    leaves = ["team-c/eval", "team-b/train-a"]
    world.groups[root] = [root, 100, 2, "all", None]
    server.change({"group": world.groups[root]})
    for key in leaves:
        world.groups[key] = [*world.groups[key][:4], root]
        server.change({"group": world.groups[key]})
    at_revision(page, server)
    members = [pod for pod in world.pods.values() if pod.group in leaves]
    page.press("/")
    page.type(members[0].key)
    page.until(f"document.querySelector('dialog.search li')?.textContent.includes({members[0].key!r})")
    page.press("Enter")
    page.until("document.querySelector('rp-cluster .note').textContent.includes('Tree team-c/job')")
    assert f"{len(members)} pods on" in text(page, "rp-cluster .note")


def test_what_waits_is_listed_with_its_reason(page: Page, server: FakeServer, world: World) -> None:
    page.press("p")
    assert texts(page, ".pending strong") == ["team-a/urgent", "team-c/giant", "team-b/late"]
    assert "40 Insufficient nvidia.com/gpu" in texts(page, ".pending .third")[1]
    assert "×64" in texts(page, ".pending .first")[1]
    server.change(
        world.put(Pod("team-a/first", 5000, GPUS, None, None, PENDING, None, "no node is large enough"))
    )
    page.until("document.querySelector('.pending strong').textContent === 'team-a/first'")


def test_a_tree_that_waits_is_one_line_with_its_groups(page: Page, server: FakeServer, world: World) -> None:
    root = "CompositePodGroup team-d/job"
    server.change({"group": [root, 7000, 2, "all", None]})
    for name in ("lead", "work"):
        server.change({"group": [f"team-d/{name}", 7000, 1, "single", root]})
    for group, name in (("lead", "lead-0"), ("work", "work-0"), ("work", "work-1")):
        reason = "pod work-1 found no node"
        pod = Pod(f"team-d/{name}", 7000, GPUS, None, f"team-d/{group}", PENDING, None, reason)
        server.change(world.put(pod))
    at_revision(page, server)
    page.press("p")
    page.until("document.querySelector('.pending strong')?.textContent === 'team-d/job'")
    row = page.evaluate("document.querySelector('.pending li').textContent")
    for words in ("×3", "tree of 2 groups: lead ×1, work ×2", "pod work-1 found no node"):
        assert words in row


def test_a_tile_stands_for_several_nodes_where_there_are_too_many(
    browser: Browser, server: FakeServer
) -> None:
    server.world = large(4_000, 4_000)
    page = browser.page(820, 560)
    page.open(f"{server.address}#token={server.token}")
    page.until(SHOWN)
    assert page.evaluate("document.querySelector('rp-cluster').layout.perTile") > 1
    assert "A tile stands for" in text(page, "rp-cluster .note")
    page.press("c", "Enter")
    page.until("document.querySelectorAll('rp-lens .nodes li').length > 1")
    first = texts(page, "rp-lens .nodes button")[0]
    click(page, "rp-lens .nodes button")
    page.until(f"document.querySelector('rp-lens h3').textContent === {first!r}")
    page.press("+")
    assert page.evaluate("document.querySelector('rp-cluster').layout.perTile") == 1
    assert page.seen.errors == []
    page.close()


def test_a_name_that_is_hidden_is_its_uid(page: Page, server: FakeServer, world: World) -> None:
    """As the daemon sends what a reader may not read."""
    node = world.add_node(Node("probe", "gpu8-h100", "zone-a", [128_000, 1_048_576, 8]))
    row = ["", "u-17", "probe", 50, None, GPUS, LEAVING, None, None]
    waits = ["", "u-18", None, 70_000, None, GPUS, PENDING, "probe", None]
    server.change(node, {"pod": row}, {"pod": waits})
    page.until("document.querySelector('rp-cluster').picture.pods.has('u-18')")
    page.press("/")
    page.type("u-17")
    page.until("document.querySelectorAll('dialog.search li').length === 1")
    page.press("Enter")
    page.until("!document.querySelector('rp-lens').hidden")
    assert texts(page, "rp-lens .pod .name") == ["(hidden) u-17", "(hidden) u-18"]
    page.press("p")
    page.until("document.querySelector('.pending strong').textContent === '(hidden) u-18'")


WRITTEN = """(() => {
  const seen = window.written = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (words, ...more) {
    seen.push(words);
    write.call(this, words, ...more);
  };
})()"""


def test_ordinary_pods_on_nodes_with_devices_are_seen_and_named(
    browser: Browser, background: Background
) -> None:
    """Twenty pods of two cpus on the default shape of `reprieve up`: nothing uses a device."""
    world = World()
    for number in range(8):
        world.add_node(Node(f"gpu-{number}", "gpu8", "", [96_000, 1_048_576, 8]))
    for number in range(20):
        world.put(Pod(f"default/web-{number}", 0, [2_000, 1_024, 0], f"gpu-{number % 8}"))
    server = FakeServer(background, world)
    page = browser.page()
    opened(page, server)
    page.evaluate(WRITTEN)
    page.press("m")
    drawn(page)
    written = page.evaluate("window.written")
    assert {pod.key.partition("/")[2] for pod in world.pods.values()} <= set(written)
    assert "8 nodes · 5 % of cpu" in written
    for name in world.nodes:
        assert pixel(page, name, 0.95, 0.02) == colour(page, "level-1")
        assert pixel(page, name, 0.95, 0.5) == colour(page, "free")
    page.close()
    server.close()


def test_a_pod_beside_those_that_use_devices_is_seen(page: Page, server: FakeServer, world: World) -> None:
    node = world.add_node(Node("probe", "gpu8-h100", "zone-a", [128_000, 1_048_576, 8]))
    pods = [Pod("team-a/gpu", 1000, GPUS, "probe"), Pod("team-a/cpu", -10, [1_000, 1_024, 0], "probe")]
    server.change(node, *map(world.put, pods))
    at_revision(page, server)
    drawn(page)
    assert pixel(page, "probe", 0.5, 0.06) == colour(page, "level-5")
    assert pixel(page, "probe", 0.5, 0.15) == colour(page, "level-0")
    assert pixel(page, "probe", 0.5, 0.5) == colour(page, "free")


def test_tiles_stay_where_they_are_between_the_tabs(page: Page) -> None:
    tiles = "JSON.stringify(document.querySelector('rp-cluster').layout.tiles.map(({ x, y }) => [x, y]))"
    drawn(page)
    before = page.evaluate(tiles)
    for key in ("p", "w", "Escape", "e", "y", "Escape", "d"):
        page.press(key)
        drawn(page)
        assert page.evaluate(tiles) == before, key


def test_the_card_of_a_node_has_its_taints(page: Page, server: FakeServer, world: World) -> None:
    taints = ["nvidia.com/gpu=present:NoSchedule", "team=a:NoExecute"]
    server.change(world.add_node(Node("probe", "gpu8-h100", "zone-a", [1_000, 1_024, 8], taints=taints)))
    at_revision(page, server)
    page.evaluate("document.querySelector('rp-cluster').pin('probe')")
    page.until("!document.querySelector('rp-lens').hidden")
    assert texts(page, "rp-lens .taints code") == taints


def test_pods_of_one_workload_that_wait_for_the_same_are_one_line(
    page: Page, server: FakeServer, world: World
) -> None:
    reason = "0/60 nodes are available: {} Insufficient cpu."
    pods = [
        Pod(f"team-a/web-{n}", 7000, GPUS, None, None, PENDING, None, reason.format(n)) for n in range(300)
    ]
    server.change(*map(world.put, pods))
    at_revision(page, server)
    page.press("p")
    page.until("document.querySelector('.pending strong')?.textContent === 'team-a/web'")
    assert "300 pods" in texts(page, ".pending > li .first")[0]
    assert len(texts(page, ".pending > li")) == 4
    click(page, ".pending .fold > button")
    page.until("document.querySelectorAll('.pending .fold li').length === 100")
    assert "and 200 more" in text(page, ".pending .fold")
