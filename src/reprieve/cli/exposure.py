"""`reprieve exposure`: which demands could preempt the running pods, and what protects them?"""

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from reprieve.cli.cluster_flags import ClusterFlags, cluster_flags, cluster_of, namespace_of
from reprieve.cli.terminal import note, say, show

if TYPE_CHECKING:
    from reprieve.cluster.api.selector_text import SelectorRequirements
    from reprieve.inquiry.decoded_cluster import DecodedCluster
    from reprieve.inquiry.shape_demand import PodShape

_FORMATS = ("table", "wide", "json", "name")


@click.command()
@cluster_flags
@click.option(
    "--at-priority",
    default="",
    metavar="N|CLASS",
    help="Only pods that a demand of this priority, or of this priority class, may ever preempt.",
)
@click.option(
    "--shape",
    default="",
    metavar="cpu=4,memory=8Gi",
    help="With --at-priority: how many of the pods a pod with these requests would preempt.",
)
@click.option("-l", "--selector", default="", metavar="app=web", help="Only pods with these labels.")
@click.option("-o", "--output", type=click.Choice(_FORMATS), default="table", help="Output format.")
@click.option("--no-headers", is_flag=True, help="Only the rows of the pods, for scripts.")
def exposure(  # noqa: PLR0913, PLR0917  one for each flag
    cluster: ClusterFlags, at_priority: str, shape: str, selector: str, output: str, no_headers: bool
) -> None:
    """Show which running pods can be preempted, from which priority on, and what protects them.

    Read access suffices, and nothing is changed. PREEMPTABLE FROM is the lowest priority that may preempt the
    pod now; whether a demand needs the room is another question: see --shape.
    """
    if shape and not at_priority:
        raise click.UsageError("--shape needs --at-priority: the priority of the pod that asks for the room")
    labels, asked = _labels(selector), _shape(shape)
    raise NotImplementedError
