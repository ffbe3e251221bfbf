"""A story about preemption: who runs, who comes, what becomes of both, and why.

Knows how a story is told, and none of the stories. Time is simulated.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

from reprieve import config
from reprieve.assembly.mini_cluster import MiniCluster, change, cluster_in_process, submit
from reprieve.cli.scenes import ListObjects, Pace
from reprieve.cli.screen import show
from reprieve.cluster.api.codec import Decoded, decode_value
from reprieve.cluster.api.documents import documents
from reprieve.cluster.port import Sight
from reprieve.model.build import build
from reprieve.model.effects import Target
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.report.decisions import decision_lines
from reprieve.report.happenings import Witness, at, decided
from reprieve.report.nodes import node_table
from reprieve.report.pods import pod_table
from reprieve.report.text import BLANK, Line, Tone, indented, table
from reprieve.runtime.telemetry import Telemetry
from reprieve.runtime.virtual_time import clock, run
from reprieve.scheduler.decision import Decision, Outcome

_MARGIN = " " * 11  # below the time
_TOLD = ("Preempted", "Preempting", "NoRoomInPlace")


class Act(Protocol):
    """Something is done, and for a while it is told what comes of it."""

    @property
    def says(self) -> tuple[str, ...]: ...

    @property
    def seconds(self) -> float: ...

    @property
    def command(self) -> tuple[str, ...]:
        """As somebody would do it."""

    def happen(self, cluster: MiniCluster) -> None: ...


@dataclass(frozen=True, slots=True)
class Patch:
    """An object that is there is changed."""

    kind: str
    name: tuple[str, str]  # namespace, name
    patch: Json
    says: tuple[str, ...]
    subresource: str = ""
    seconds: float = 45.0

    @property
    def command(self) -> tuple[str, ...]:
        namespace = f" -n {self.name[0]}" if self.name[0] else ""
        part = f" --subresource {self.subresource}" if self.subresource else ""
        what = f"{self.kind.lower()}{namespace} {self.name[1]}"
        return (f"$ kubectl patch {what}{part} -p '{json.dumps(self.patch)}'",)

    def happen(self, cluster: MiniCluster) -> None:
        change(cluster, self.kind, self.name, self.patch)


@dataclass(frozen=True, slots=True)
class Apply:
    """What a file has is applied."""

    file: str  # in the folder of the demo
    says: tuple[str, ...]
    seconds: float = 45.0

    @property
    def path(self) -> str:
        return str(files("reprieve") / "demo" / self.file)

    @property
    def text(self) -> str:
        return (files("reprieve") / "demo" / self.file).read_text(encoding="utf-8")

    @property
    def command(self) -> tuple[str, ...]:
        return ("$ kubectl apply -f - <<'EOF'", *self.text.splitlines(), "EOF")

    def happen(self, cluster: MiniCluster) -> None:
        submit(cluster, (document for document in documents(self.text) if isinstance(document, dict)))


def tell(
    pace: Pace,
    before: Apply,
    acts: Sequence[Act],
    args: Json | None = None,
    metrics: tuple[str, ...] = (),
) -> None:
    """``before`` is what runs when the story begins; ``args`` are those of Reprieve.

    ``metrics`` are shown at the end.
    """
    story = Story(pace)
    run(story.unfold(before, acts, args or {}), pace.speed)
    if metrics:
        show([BLANK, Line("What Prometheus reads of it:"), BLANK])
        show(indented(_metrics(story.telemetry, metrics)))


class Story:
    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._begin: float | None = None  # before that, nothing is told
        self._witness = Witness()
        self._answers: dict[Target, str] = {}  # the last to each demand
        self.telemetry = Telemetry()

    async def unfold(self, before: Apply, acts: Sequence[Act], args: Json) -> None:
        async with cluster_in_process(_configured(args), clock, self._decided, self.telemetry) as cluster:
            watching = asyncio.create_task(self._watch(cluster.watch()))
            before.happen(cluster)
            await asyncio.sleep(before.seconds)
            show([*map(Line, before.says), *indented([Line(before.path)]), BLANK])
            show([*_nodes(cluster.list), BLANK, *_pods(cluster.list)])
            self._begin = clock()
            for act in acts:
                self._pace.wait("the next act")
                known = len(cluster.list("Event"))
                show([BLANK, *map(Line, act.says), BLANK, *_command(act), BLANK])
                act.happen(cluster)
                await asyncio.sleep(act.seconds)
                show([BLANK, *_messages(cluster.list, known), *_pods(cluster.list)])
            watching.cancel()

    async def _watch(self, sights: AsyncIterator[Sight]) -> None:
        async for sight in sights:
            line = self._witness.sees(sight)
            if line is not None:
                self._tell([line])

    def _decided(self, decision: Decision) -> None:
        before, self._answers[decision.demand] = self._answers.get(decision.demand), decision.text
        if decision.outcome is not Outcome.WAITING and decision.text != before:
            placed = decision.outcome in (Outcome.PLACED, Outcome.FITS)
            self._tell([decided(decision)] if placed else decision_lines(decision))

    def _tell(self, lines: Sequence[Line]) -> None:
        if self._begin is None:
            return
        first, *others = lines
        show([at(clock() - self._begin, first)])
        show(Line(f"{_MARGIN}{line.text}".rstrip(), line.tone) for line in others)
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


def _command(act: Act) -> list[Line]:
    return [Line(line, Tone.FAINT) for line in act.command]


# --- how things stand ----------------------------------------------------------------------------


def _nodes(listing: ListObjects) -> list[Line]:
    return node_table(build(_read(listing, "Node", "Pod")).snapshot)


def _pods(listing: ListObjects) -> list[Line]:
    return pod_table(thing for thing in _read(listing, "Pod") if isinstance(thing, Pod))


def _read(listing: ListObjects, *kinds: str) -> list[KubernetesObject]:
    found = (decode_value(body) for kind in kinds for body in listing(kind))
    return [one.object for one in found if isinstance(one, Decoded)]


def _messages(listing: ListObjects, known: int) -> list[Line]:
    """What both sides of a preemption find in their events."""
    events = sorted(listing("Event"), key=lambda event: int(event["metadata"]["resourceVersion"]))
    rows = [_message(event) for event in events[known:] if event["reason"] in _TOLD]
    return [*table(["EVENT ON", "REASON", "MESSAGE"], rows), BLANK] if rows else []


def _message(event: Json) -> list[str]:
    about = event["involvedObject"]
    return [f"{about['kind']} {about['namespace']}/{about['name']}", event["reason"], event["message"]]


def _metrics(telemetry: Telemetry, names: tuple[str, ...]) -> list[Line]:
    return [Line(line) for line in telemetry.text().decode().splitlines() if line.startswith(names)]
