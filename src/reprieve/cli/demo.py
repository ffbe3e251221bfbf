"""`reprieve demo`: a few scenes for somebody who has just come, or pods of one's own in one's own cluster.

Knows which scenes there are, and nothing of what they show.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import TextIO

import click

from reprieve.cli.scenes import SCENES, Pace
from reprieve.cli.screen import note, show
from reprieve.cli.text_files import STDIN
from reprieve.report.text import BLANK, Line, Tone

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
    help="Play this scene; can be given several times. Otherwise all are played.",
)
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
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Let N seconds of a story pass in one of yours, instead of all at once.",
)
@click.option("--no-input", is_flag=True, help="Do not wait for anybody to read along.")
@click.pass_context
def demo(  # noqa: PLR0913, PLR0917  one for each flag
    ctx: click.Context,
    scenes: tuple[str, ...],
    filenames: tuple[str, ...],
    cluster: str | None,
    speed: float | None,
    no_input: bool,
) -> None:
    """Show in a few scenes what Reprieve does.

    With FILE it places your own pods instead. Nothing is changed anywhere.

    Of your own pods the exit status tells: 0 if each found a place, 20 if one fits nowhere, 1 if something
    could not be read.
    """
    own = [name for name in (cluster, *filenames) if name is not None]
    pace = replace(pace_for(no_input or STDIN in own), speed=speed)
    if not own:
        play_scenes(scenes or tuple(SCENES), pace, ctx.command_path)
        return
    if set(scenes) - {"placing"}:
        raise click.UsageError("files of your own are for the scene placing")
    ctx.exit(place_own(cluster, filenames, pace))


def play_scenes(names: tuple[str, ...], pace: Pace, command: str) -> None:
    for number, name in enumerate(names, start=1):
        if number > 1:
            pace.wait("the next scene")
            show([BLANK])
        show([Line(f"Scene {number} of {len(names)}: {name}", Tone.HEADING), BLANK])
        play: Callable[[Pace, str], None] = import_module(f"reprieve.cli.scenes.{name}").play
        play(pace, command)


def place_own(cluster: str | None, filenames: tuple[str, ...], pace: Pace) -> int:
    """Places somebody's own pods; the exit status."""
    from reprieve.cli.scenes.placing import ask_for_all, set_scene

    scene = set_scene(cluster, filenames)
    for sentence in scene.complaints:
        note(sentence)
    if not len(scene.view.nodes):
        raise click.ClickException(f"{cluster}: expected at least one node")
    if filenames and not scene.asking:
        raise click.ClickException(f"{', '.join(filenames)}: expected at least one pod without a node")
    everybody_fits = ask_for_all(scene, pace)
    if scene.complaints:
        return UNREADABLE
    return 0 if everybody_fits else FITS_NOWHERE


# --- somebody who reads along --------------------------------------------------------------------


def pace_for(alone: bool) -> Pace:
    """Nobody has to wait for a file, or for a reader who is not there."""
    if alone or not is_terminal(sys.stdin) or not is_terminal(sys.stdout):
        return Pace(lambda _: None, lambda: None)
    return Pace(wait_for_enter, lambda: time.sleep(BREATH_SECONDS))


def wait_for_enter(what: str) -> None:
    click.echo(f"Enter shows {what}. ", nl=False, err=True)
    sys.stdin.readline()


def is_terminal(stream: TextIO | None) -> bool:
    """A stream that was closed before we began is None."""
    return stream is not None and stream.isatty()
