"""`reprieve demo`: pods ask for a place one after another, and each answer is explained.

Takes the cluster that comes with the package, or the user's own. Decides nothing itself.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files

import click

from reprieve.cli.inputs import read_objects
from reprieve.cli.screen import note, show
from reprieve.model.objects import KubernetesObject, Pod, ref_of
from reprieve.model.snapshot import Snapshot, build
from reprieve.model.whatif import with_pod
from reprieve.placement.demand import Ask
from reprieve.placement.place import best, rate, survey
from reprieve.report.nodes import node_table, population
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

    The exit status is 0 if each of your pods found a place, 20 if one fits nowhere, and 1 if something
    could not be read.
    """
    base, base_faults = read_objects(cluster or BUILT_IN)
    more, more_faults = read_objects(*filenames)
    built = build(latest([*base, *more]))
    faults = [*base_faults, *more_faults, *built.problems]
    for fault in faults:
        note(fault)
    asked = waiting(built.snapshot, more if filenames else base)
    waits = not no_input and sys.stdin.isatty() and "-" not in (cluster, *filenames)
    placed = play(built.snapshot, asked, wait_for_enter if waits else go_on)
    own = cluster is not None or bool(filenames)
    ...


def latest(objects: Iterable[KubernetesObject]) -> list[KubernetesObject]:
    """Of objects with one name the last, as if the files had been applied in order."""
    return list({ref_of(thing): thing for thing in objects}.values())


def waiting(view: Snapshot, objects: Iterable[KubernetesObject]) -> list[int]:
    """The rows of the pods that ask for a place; one that cannot be read whole is not placed by halves."""
    keys = dict.fromkeys((p.metadata.namespace, p.metadata.name) for p in objects if isinstance(p, Pod))
    rows = (view.pods.rows[key] for key in keys if key in view.pods.rows)
    return [row for row in rows if asks(view.pods.compiled[row])]
