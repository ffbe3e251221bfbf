"""`reprieve demo`: a few scenes, or the user's own pods in the user's own cluster.

Knows the names of the scenes, and nothing of their content.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TextIO

import click

from reprieve.cli.scenes import SCENES, ScenePacing
from reprieve.cli.terminal import note, prompt, show
from reprieve.cli.text_files import STDIN
from reprieve.report.text_layout import BLANK, LineStyle, TextLine

UNREADABLE, FITS_NOWHERE = 1, 20
BREATH_SECONDS = 0.15


@click.command(
    epilog="\n\n".join(["Scenes:", *(f"{name}: {text}." for name, text in SCENES.items())]),
)
@click.option(
    "--scene",
    "scenes",
    multiple=True,
    type=click.Choice(tuple(SCENES)),
    help="Play this scene; may be repeated. Default: all scenes.",
)
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="FILE",
    help="Place the pods of this file; `-` for stdin. May be repeated.",
)
@click.option(
    "--cluster",
    metavar="FILE",
    help="Place them in this cluster: the output of 'kubectl get nodes,pods -A -o yaml'.",
)
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Play N simulated seconds per second. Default: as fast as possible.",
)
@click.option("--no-input", is_flag=True, help="Do not wait for Enter between steps.")
@click.pass_context
def demo(  # noqa: PLR0913, PLR0917  one for each flag
    ctx: click.Context,
    scenes: tuple[str, ...],
    filenames: tuple[str, ...],
    cluster: str | None,
    speed: float | None,
    no_input: bool,
) -> None:
    """Show what Reprieve does, in a few scenes.

    With -f or --cluster it places your own pods instead. Nothing is changed in any cluster.

    Exit codes with your own pods: 0 if all fit, 20 if a pod fits on no node, 1 if an object could not be
    read.
    """
    own = [name for name in (cluster, *filenames) if name is not None]
    pace = replace(pace_for(no_input or STDIN in own), speed=speed)
    if not own:
        play_scenes(scenes or tuple(SCENES), pace, ctx.command_path)
        return
    if set(scenes) - {"placement"}:
        raise click.UsageError("--scene: expected placement, the only scene for -f and --cluster")
    ctx.exit(place_own(cluster, filenames, pace))


def play_scenes(names: tuple[str, ...], pace: ScenePacing, command: str) -> None:
    for number, name in enumerate(names, start=1):
        if number > 1:
            pace.wait("the next scene")
            show([BLANK])
        show([TextLine(f"Scene {number} of {len(names)}: {name}", LineStyle.HEADING), BLANK])
        play: Callable[[ScenePacing, str], None] = import_module(f"reprieve.cli.scenes.{name}").play
        play(pace, command)


def place_own(cluster: str | None, filenames: tuple[str, ...], pace: ScenePacing) -> int:
    """Places the pods of the files; returns the exit code."""
    from reprieve.cli.scenes.placement import place_all, set_scene

    scene = set_scene(cluster, filenames)
    for sentence in scene.errors:
        note(f"Error: {sentence}")
    if not len(scene.view.nodes):
        raise click.ClickException(f"{cluster}: expected at least one node")
    if filenames and not scene.pending:
        if scene.errors:
            return UNREADABLE  # they say why there is no such pod
        raise click.ClickException(f"{', '.join(filenames)}: expected at least one pod without a node")
    all_fit = place_all(scene, pace)
    if scene.errors:
        return UNREADABLE
    return 0 if all_fit else FITS_NOWHERE


# --- pacing --------------------------------------------------------------------------------------


def pace_for(alone: bool) -> ScenePacing:
    """Pauses only on a terminal: output to a file or a pipe must not wait for Enter."""
    if alone or not is_terminal(sys.stdin) or not is_terminal(sys.stdout):
        return ScenePacing(lambda _: None, lambda: None)
    return ScenePacing(wait_for_enter, lambda: time.sleep(BREATH_SECONDS))


def wait_for_enter(what: str) -> None:
    prompt(f"Press Enter for {what}. ")
    sys.stdin.readline()


def is_terminal(stream: TextIO | None) -> bool:
    """A stream that was closed before the start is None."""
    return stream is not None and stream.isatty()
