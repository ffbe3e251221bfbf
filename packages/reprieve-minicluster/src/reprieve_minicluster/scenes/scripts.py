"""The scripted scenes: how a script is played, in simulated time, and the scripts: their files and words."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

from reprieve import config
from reprieve.assembly.journals import journal_in
from reprieve.assembly.scheduler_settings import EVERYTHING
from reprieve.cli.terminal import note
from reprieve.cli.terminal import show_fitting as show
from reprieve.cluster.api.documents import documents
from reprieve.cluster.port import ClusterEvent
from reprieve.model.effects import Target
from reprieve.model.json import Json
from reprieve.model.objects import Pod
from reprieve.model.snapshot import build
from reprieve.report.decisions import decision_lines
from reprieve.report.text_layout import BLANK, LineStyle, TextLine, indented, table
from reprieve.runtime.telemetry import Telemetry
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve_minicluster.assembly.mini_cluster import MiniCluster, change, cluster_in_process, submit
from reprieve_minicluster.scenes import ListObjects, ScenePacing, path_of
from reprieve_minicluster.scenes.tables import decoded_objects, node_table, pod_table
from reprieve_minicluster.scenes.timeline import ChangeTracker, decision_line, timed_line
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
        return (f"$ kubectl apply -f {self.path}",)

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


def play_script(pace: ScenePacing, script: Script, journal: Path | None) -> None:
    scene = ScriptedScene(pace)
    run(scene.run(script, journal), pace.speed)
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

    async def run(self, script: Script, journal: Path | None) -> None:
        before, configured = script.before, _configured(script.args)
        with journal_in(journal, configured, EVERYTHING, note) as written:
            async with cluster_in_process(
                configured, clock, self._decided, self.telemetry, written
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
        show([replace(timed_line(clock() - self._begin, first), hang=len(_MARGIN))])
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
    return node_table(build(decoded_objects(listing, "Node", "Pod")).snapshot)


def _pods(listing: ListObjects) -> list[TextLine]:
    return pod_table(thing for thing in decoded_objects(listing, "Pod") if isinstance(thing, Pod))


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


# A gang preempts as a whole: for all pods that must start together, or not at all.
_GANG_BEFORE = Apply(
    "gang-before.yaml", ("Two nodes with 8 accelerators each run a sweep of low-priority pods. What runs:",)
)
_GANG_STEPS = (
    Apply(
        "gang-preemptor.yaml",
        (
            "A training job is created: three pods with 4 accelerators each, which must all start. No pod is",
            "evicted before there is a plan for all three; then only as many are as the plan needs.",
        ),
    ),
    Apply(
        "gang-too-large.yaml",
        (
            "Another gang is created that does not fit even with preemption, although its priority is the",
            "highest. No pod is evicted in vain, and the answer names the pod that does not fit.",
        ),
    ),
)

# A group with disruptionMode all is evicted as a whole, or not at all.
_GROUPS_BEFORE = Apply(
    "groups-before.yaml",
    (
        "A group of three pods runs on three nodes. Its disruptionMode is all: it is evicted as a whole, or",
        "not at all. Beside it run single pods. What runs:",
    ),
)
_GROUPS_STEPS = (
    Apply(
        "groups-small.yaml",
        (
            "A service is created that needs half a node. All running pods have the same priority. The",
            "victim is a single pod: preempting the group would evict three.",
        ),
    ),
    Apply(
        "groups-large.yaml",
        (
            "Another service needs a whole node, and every node has a pod of the group. One of its pods is",
            "in the way, and all three are evicted: the other two alone would hold their room for nothing.",
        ),
    ),
)

# A job with roles is a tree of groups: it preempts as one, and is evicted as one.
_TREES_BEFORE = Apply(
    "trees-before.yaml", ("Two nodes with 8 accelerators each run a sweep of low-priority pods. What runs:",)
)
_TREES_STEPS = (
    Apply(
        "trees-preemptor.yaml",
        (
            "A training job with two roles is created: a leader and two workers, a PodGroup each, in one",
            "CompositePodGroup that needs both. The leader alone would fit at once, and would wait for its",
            "workers in vain: there is one decision for all three pods, and one plan.",
        ),
    ),
    Apply(
        "trees-victim.yaml",
        (
            "A service is created that needs most of a node, and both nodes have pods of the job. The job's",
            "disruptionMode is all, so the leader and all workers are evicted, wherever they run: without",
            "one of the roles the rest would hold its accelerators for nothing.",
        ),
    ),
)

# A PodDisruptionBudget is respected: other pods are preempted, or none.
_BUDGETS_BEFORE = Apply(
    "budgets-before.yaml",
    (
        "A Deployment of four pods, whose PodDisruptionBudget allows one disruption; on another node, batch",
        "pods with a higher priority. What runs:",
    ),
)
_BUDGETS_CHOICE = Apply(
    "budgets-preemptor.yaml",
    (
        "A pod is created that fits on one node if two web pods are preempted, or on the other if one batch",
        "pod is. The web pods have the lower priority, but the budget allows one disruption and not two.",
    ),
)
_BUDGETS_AGAIN = Apply(
    "budgets-before.yaml",
    (
        "",
        "The same cluster again, with Reprieve configured with respectBudgets: Always. What runs:",
    ),
)
_BUDGETS_NO_CHOICE = Apply(
    "budgets-no-choice.yaml",
    (
        "A pod is created that fits only where the web pods run. By default, as in Kubernetes, preemption",
        "exceeds a budget if nothing else helps. With Always, it does not.",
    ),
)

# A preemption toleration holds, then it ends, and the waiting preemptor acts at that moment.
_TOLERATION_BEFORE = Apply(
    "toleration-before.yaml",
    (
        "Two priority classes tolerate preemption by priorities below 10000: one for the first ten minutes",
        "of a pod, one for as long as it runs. What runs, 45 s old:",
    ),
)
_TOLERATION_STEPS = (
    Apply(
        "toleration-high.yaml",
        (
            "A pod with priority 9000 is created. Its priority is higher than both, and yet it has to wait:",
            "its events say for what. When the ten minutes are over, it preempts at that very moment.",
        ),
        seconds=620.0,
    ),
    Apply(
        "toleration-critical.yaml",
        (
            "A pod with priority 10000 is created. That is the minimum, so it preempts at once the pod that",
            "tolerates all lower priorities.",
        ),
    ),
)

# Other pods are scheduled while victims terminate, and none takes the room that is reserved.
_HANDOVER_BEFORE = Apply(
    "handover-before.yaml",
    ("A batch job has all accelerators, and its pods take half a minute to terminate. What runs:",),
)
_HANDOVER_STEPS = (
    Apply(
        "handover-preemptor.yaml",
        (
            "An urgent pod is created that needs them all. Reprieve chooses the victims at once; the rest",
            "runs in the background: marking, evicting, waiting. The first three seconds:",
        ),
        seconds=3.0,
    ),
    Apply(
        "handover-others.yaml",
        (
            "While the victims terminate, other pods are created. Those that fit are placed at once. The",
            "room of the victims is reserved: a pod of lower priority does not get it.",
        ),
    ),
)
_METRICS = (
    'reprieve_handovers_begun_total{preemptor="pod"}',
    'reprieve_handovers_ready_total{preemptor="pod"}',
    "reprieve_wasted_evictions_total",
)

# An in-place resize preempts pods on its node, unless the node forbids it.
_RESIZE_BEFORE = Apply(
    "resize-before.yaml",
    ("A database, a web server and reports use all cpu of a node. What runs:",),
)
_DATABASE = ("shop", "db-0")


def _cpu(cpu: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "db", "resources": {"requests": {"cpu": cpu}}}]}}


_NODE_POLICY = {"spec": {"podPreemptionPolicy": {"disableResizePreemption": ["example.com/node-autoscaler"]}}}
_RESIZE_STEPS = (
    Patch(
        "Pod",
        _DATABASE,
        _cpu("5"),
        (
            "The database is resized in place from 3 to 5 cpu. Its node has no room for that, and the",
            "kubelet defers the resize. Reprieve chooses victims as for a new pod, but on this node only,",
            "and counts as the kubelet does: one report of 2 cpu is enough.",
        ),
        "resize",
    ),
    Patch(
        "Node",
        ("", "node-1"),
        _NODE_POLICY,
        ("A node autoscaler wants to enlarge the node instead: it disables preemption for resizes there.",),
        seconds=5.0,
    ),
    Patch(
        "Pod",
        _DATABASE,
        _cpu("6"),
        ("The database is resized again. No pod is evicted; its events name what disabled preemption.",),
        "resize",
    ),
)

SCRIPTS: dict[str, tuple[Script, ...]] = {
    "gang": (Script(_GANG_BEFORE, _GANG_STEPS),),
    "groups": (Script(_GROUPS_BEFORE, _GROUPS_STEPS),),
    "trees": (Script(_TREES_BEFORE, _TREES_STEPS),),
    "budgets": (
        Script(_BUDGETS_BEFORE, (_BUDGETS_CHOICE,)),
        Script(_BUDGETS_AGAIN, (_BUDGETS_NO_CHOICE,), {"respectBudgets": "Always"}),
    ),
    "toleration": (Script(_TOLERATION_BEFORE, _TOLERATION_STEPS),),
    "handover": (Script(_HANDOVER_BEFORE, _HANDOVER_STEPS, metrics=_METRICS),),
    "resize": (Script(_RESIZE_BEFORE, _RESIZE_STEPS),),
}


def play(name: str, pace: ScenePacing, journal: Path | None) -> None:
    for script in SCRIPTS[name]:
        play_script(pace, script, journal)
