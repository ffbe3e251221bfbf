"""Plays a scripted scene about preemption: what runs, what is applied, what happens, and why.

Knows how a scene is played, and none of the scenes. Time is simulated.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Protocol

from reprieve import config
from reprieve.cli.terminal import show_fitting as show
from reprieve.cluster.api.codec import Decoded, decode_value
from reprieve.cluster.api.documents import documents
from reprieve.cluster.port import ClusterEvent
from reprieve.model.effects import Target
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.model.snapshot import build
from reprieve.report.decisions import decision_lines
from reprieve.report.text_layout import BLANK, LineStyle, TextLine, indented, table
from reprieve.runtime.telemetry import Telemetry
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve_minicluster.assembly.mini_cluster import MiniCluster, change, cluster_in_process, submit
from reprieve_minicluster.scenes import ListObjects, ScenePacing, path_of
from reprieve_minicluster.scenes.tables import node_table, pod_table
from reprieve_minicluster.scenes.timeline import ChangeTracker, at, decision_line
from reprieve_minicluster.virtual_time import clock, run

_MARGIN = " " * 11  # below the time
_SHOWN_EVENTS = ("Preempted", "Preempting", "NoRoomInPlace")


class SceneStep(Protocol):
    """One change of the cluster; what it leads to is shown for some seconds."""

    @property
    def text(self) -> tuple[str, ...]: ...

    @property
    def seconds(self) -> float: ...

    @property
    def command(self) -> tuple[str, ...]:
        """The kubectl command for it."""

    def apply_to(self, cluster: MiniCluster) -> None: ...


@dataclass(frozen=True, slots=True)
class Patch:
    """Changes an object."""

    kind: str
    name: tuple[str, str]  # namespace, name
    patch: Json
    text: tuple[str, ...]
    subresource: str = ""
    seconds: float = 45.0

    @property
    def command(self) -> tuple[str, ...]:
        namespace = f" -n {self.name[0]}" if self.name[0] else ""
        part = f" --subresource {self.subresource}" if self.subresource else ""
        what = f"{self.kind.lower()}{namespace} {self.name[1]}"
        return (f"$ kubectl patch {what}{part} -p '{json.dumps(self.patch)}'",)

    def apply_to(self, cluster: MiniCluster) -> None:
        change(cluster, self.kind, self.name, self.patch)


@dataclass(frozen=True, slots=True)
class Apply:
    """Applies a file."""

    file: str  # in reprieve_minicluster/demo
    text: tuple[str, ...]
    seconds: float = 45.0

    @property
    def path(self) -> str:
        return path_of(self.file)

    @property
    def manifest(self) -> str:
        return (files("reprieve_minicluster") / "demo" / self.file).read_text(encoding="utf-8")

    @property
    def command(self) -> tuple[str, ...]:
        return ("$ kubectl apply -f - <<'EOF'", *self.manifest.splitlines(), "EOF")

    def apply_to(self, cluster: MiniCluster) -> None:
        submit(cluster, (document for document in documents(self.manifest) if isinstance(document, dict)))


@dataclass(frozen=True, slots=True)
class Script:
    """``before``: what runs when the scene starts. ``args``: the plugin arguments of Reprieve.

    ``metrics``: names of metrics to show at the end.
    """

    before: Apply
    steps: tuple[SceneStep, ...]
    args: Json = field(default_factory=dict)
    metrics: tuple[str, ...] = ()


def play_script(pace: ScenePacing, script: Script) -> None:
    scene = ScriptedScene(pace)
    run(scene.run(script), pace.speed)
    if script.metrics:
        show([BLANK, TextLine("The metrics of it:"), BLANK])
        show(indented(_metrics(scene.telemetry, script.metrics)))


class ScriptedScene:
    def __init__(self, pace: ScenePacing) -> None:
        self._pace = pace
        self._begin: float | None = None  # before that, nothing is shown
        self._tracker = ChangeTracker()
        self._answers: dict[Target, str] = {}  # the last decision text of each demand
        self.telemetry = Telemetry()

    async def run(self, script: Script) -> None:
        before = script.before
        async with cluster_in_process(
            _configured(script.args), clock, self._decided, self.telemetry
        ) as cluster:
            watching = asyncio.create_task(self._watch(cluster.watch()))
            try:
                before.apply_to(cluster)
                await asyncio.sleep(before.seconds)
                show([*map(TextLine, before.text), *indented([TextLine(before.path)]), BLANK])
                show([*_nodes(cluster.list), BLANK, *_pods(cluster.list)])
                self._begin = clock()
                for step in script.steps:
                    await self._step(cluster, step)
            finally:
                watching.cancel()

    async def _step(self, cluster: MiniCluster, step: SceneStep) -> None:
        self._pace.wait("the next step")
        known = len(cluster.list("Event"))
        show([BLANK, *map(TextLine, step.text), BLANK, *_command(step), BLANK])
        step.apply_to(cluster)
        await asyncio.sleep(step.seconds)
        show([BLANK, *_messages(cluster.list, known), *_pods(cluster.list)])

    async def _watch(self, events: AsyncIterator[ClusterEvent]) -> None:
        async for event in events:
            line = self._tracker.line_for(event)
            if line is not None:
                self._show([line])

    def _decided(self, decision: Decision) -> None:
        before, self._answers[decision.demand] = self._answers.get(decision.demand), decision.text
        if decision.outcome not in (Outcome.WAITING, Outcome.IMPROVING) and decision.text != before:
            placed = decision.outcome in (Outcome.PLACED, Outcome.FITS)
            self._show([decision_line(decision)] if placed else decision_lines(decision))

    def _show(self, lines: Sequence[TextLine]) -> None:
        if self._begin is None:
            return
        first, *others = lines
        show([replace(at(clock() - self._begin, first), hang=len(_MARGIN))])
        show(indented(others, _MARGIN))
        if others:
            show([BLANK])
        self._pace.breathe()


def _configured(args: Json) -> config.Configuration:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "Reprieve", "args": args}]}],
    }
    return config.parse_configuration(document)


def _command(step: SceneStep) -> list[TextLine]:
    return [TextLine(line, LineStyle.FAINT, whole=True) for line in step.command]


# --- the state of the cluster --------------------------------------------------------------------


def _nodes(listing: ListObjects) -> list[TextLine]:
    return node_table(build(_read(listing, "Node", "Pod")).snapshot)


def _pods(listing: ListObjects) -> list[TextLine]:
    return pod_table(thing for thing in _read(listing, "Pod") if isinstance(thing, Pod))


def _read(listing: ListObjects, *kinds: str) -> list[KubernetesObject]:
    found = (decode_value(body) for kind in kinds for body in listing(kind))
    return [one.object for one in found if isinstance(one, Decoded)]


def _messages(listing: ListObjects, known: int) -> list[TextLine]:
    """The events of preemptors and victims."""
    events = sorted(listing("Event"), key=lambda event: int(event["metadata"]["resourceVersion"]))
    rows = [_message(event) for event in events[known:] if event["reason"] in _SHOWN_EVENTS]
    return [*table(["EVENT ON", "REASON", "MESSAGE"], rows), BLANK] if rows else []


def _message(event: Json) -> list[str]:
    about = event["involvedObject"]
    return [f"{about['kind']} {about['namespace']}/{about['name']}", event["reason"], event["message"]]


def _metrics(telemetry: Telemetry, names: tuple[str, ...]) -> list[TextLine]:
    return [TextLine(line) for line in telemetry.text().decode().splitlines() if line.startswith(names)]
