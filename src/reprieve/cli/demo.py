"""`reprieve demo`: pods ask for a place one after another, and each answer is explained.

The cluster is the one that comes with the package, or the user's own. Nothing is decided here.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TextIO

import click

from reprieve.cli.inputs import STDIN, latest, read_input
from reprieve.cli.screen import note, show
from reprieve.cluster.api.pod_fields import unserved_fields
from reprieve.model.build import build
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import Snapshot
from reprieve.model.whatif import with_pod
from reprieve.placement.demand import Ask
from reprieve.placement.place import best, rate, survey
from reprieve.report.nodes import node_table
from reprieve.report.placing import fits, fits_nowhere, held_back, pod_heading
from reprieve.report.text import BLANK, Line, counted, indented

UNREADABLE, FITS_NOWHERE = 1, 20
BUILT_IN = str(files("reprieve") / "demo" / "cluster.yaml")


@click.command()
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="FILE",
    help="Place the pods of this file; - is stdin. Can be given several times.",
)
@click.option(
    "--cluster",
    metavar="FILE",
    help="Place them in this cluster, as 'kubectl get nodes,pods -A -o yaml' prints it.",
)
@click.option("--no-input", is_flag=True, help="Do not wait for Enter between pods.")
@click.pass_context
def demo(ctx: click.Context, filenames: tuple[str, ...], cluster: str | None, no_input: bool) -> None:
    """Place a few pods in a small cluster, and say why they went there.

    Without FILE this is a made-up cluster and the pods that wait in it. Nothing is changed anywhere.

    Of your own pods the exit status tells: 0 if each found a place, 20 if one fits nowhere, 1 if something
    could not be read.
    """
    scene = set_scene(cluster, filenames)
    for sentence in scene.complaints:
        note(sentence)
    if not len(scene.view.nodes):
        raise click.ClickException(f"{cluster}: expected at least one node")
    if filenames and not scene.asking:
        raise click.ClickException(f"{', '.join(filenames)}: expected at least one pod without a node")
    own = cluster is not None or bool(filenames)
    if not own:
        show(introduction(ctx.command_path))
    interactive = not no_input and STDIN not in (cluster, *filenames) and is_terminal(sys.stdin)
    everybody_fits = play(scene, wait_for_enter if interactive else go_on)
    if scene.complaints:
        ctx.exit(UNREADABLE)
    if own and not everybody_fits:
        ctx.exit(FITS_NOWHERE)


# --- who asks, and in which cluster --------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    view: Snapshot
    asking: tuple[int, ...]  # rows of pods
    complaints: tuple[str, ...]


def set_scene(cluster: str | None, filenames: Sequence[str]) -> Scene:
    base = read_input(cluster or BUILT_IN)
    more = [read_input(name) for name in filenames]
    added = [thing for one in more for thing in one.objects]
    built = build(latest([*base.objects, *added]))
    # What else there is in a cluster is not asked about; what somebody wants placed is.
    malformed = [*base.malformed, *(s for one in more for s in (*one.malformed, *one.strange))]
    return Scene(
        view=built.snapshot,
        asking=waiting(built.snapshot, added if filenames else base.objects),
        complaints=(*malformed, *map(str, built.problems)),
    )


def waiting(view: Snapshot, objects: Iterable[KubernetesObject]) -> tuple[int, ...]:
    keys = dict.fromkeys((o.metadata.namespace, o.metadata.name) for o in objects if isinstance(o, Pod))
    rows = (view.pods.rows[key] for key in keys if key in view.pods.rows)
    return tuple(row for row in rows if asks(view.pods.compiled[row]))


def asks(compiled: CompiledPod) -> bool:
    """A pod asks until it has a node; one of which something cannot be read is not placed by halves."""
    pod = compiled.pod
    leaving = pod.metadata.deletion_timestamp is not None
    return not (pod.spec.node_name or leaving or compiled.problems)


# --- what is said --------------------------------------------------------------------------------


def introduction(command: str) -> list[Line]:
    return [
        Line("Pods ask for a place in a cluster, one after another. The cluster is made up:"),
        *indented([Line(BUILT_IN)]),
        Line("For yours: kubectl get nodes,pods -A -o yaml > cluster.yaml"),
        Line(f"           {command} --cluster cluster.yaml -f pods.yaml"),
        BLANK,
    ]


def play(scene: Scene, pause: Callable[[], None]) -> bool:
    """Shows the nodes, each pod in turn, and the nodes that got some; tells whether all found a place."""
    view, used = scene.view, []
    show([*node_table(view), BLANK])
    for pod in scene.asking:
        if pod != scene.asking[0]:
            pause()
        lines, node = answer(view, pod)
        show([*pod_heading(view, pod), *lines, BLANK])
        if node is not None:
            view = with_pod(view, pod, node)
            used.append(node)
    show([Line(f"{len(used)} of {counted(len(scene.asking), 'pod')} found a place.")])
    if used:
        show([BLANK, *node_table(view, used)])
    return len(used) == len(scene.asking)


def answer(view: Snapshot, pod: int) -> tuple[list[Line], int | None]:
    """What is to be said to a pod, and the node that it gets."""
    asked = view.pods.compiled[pod].pod
    gates = [gate.name for gate in asked.spec.scheduling_gates]
    if gates or unserved_fields(asked):
        return held_back(gates, unserved_fields(asked)), None
    ask = Ask(view, pod)
    found = survey(ask)
    if not found.feasible.any():
        return fits_nowhere(view, found), None
    return fits(view, found, rate(ask, found.feasible)), best(ask, found.feasible)


def wait_for_enter() -> None:
    click.echo("Enter shows the next pod. ", nl=False, err=True)
    sys.stdin.readline()


def go_on() -> None:
    pass


def is_terminal(stream: TextIO | None) -> bool:
    """A stream that was closed before we began is None."""
    return stream is not None and stream.isatty()
