"""`reprieve demo`: a few scenes, and one of them on the page; with files of the user, what `whatif` says.

Knows the names of the scenes, and nothing of their content.
"""

import asyncio
import os
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn, TextIO

import click

from reprieve.cli.flag_values import FiniteRange
from reprieve.cli.terminal import note, prompt
from reprieve.cli.terminal import show_fitting as show
from reprieve.report.text_layout import BLANK, LineStyle, TextLine
from reprieve_minicluster.scenes import (
    ON_THE_PAGE,
    SCENES,
    USUAL_SCENES,
    DemoEndedError,
    ScenePacing,
    SceneSkippedError,
    play_scene,
)

BREATH_SECONDS = 0.15


@click.command(
    epilog="\n\n".join(["Scenes:", *(f"{name}: {text}." for name, text in SCENES.items())]),
)
@click.option(
    "--scene",
    "scenes",
    multiple=True,
    type=click.Choice(tuple(SCENES)),
    help=f"Play this scene; may be repeated. Default: {', '.join(USUAL_SCENES)}.",
)
@click.option("--all", "all_scenes", is_flag=True, help="Play all scenes.")
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    metavar="FILE",
    help="Ask about the pods of this file, as `whatif -f` does; `-` for stdin. May be repeated.",
)
@click.option(
    "--cluster",
    metavar="FILE",
    help="Ask about them in this cluster: the output of 'kubectl get nodes,pods -A -o yaml'. "
    "Default: that of the scene placement.",
)
@click.option(
    "--speed",
    type=FiniteRange(min=0, min_open=True),
    metavar="N",
    help="Play N simulated seconds per second. Default: as fast as possible.",
)
@click.option("--no-input", is_flag=True, help="Do not wait for a key between steps.")
@click.pass_context
def demo(  # noqa: PLR0913, PLR0917  one for each flag
    ctx: click.Context,
    scenes: tuple[str, ...],
    all_scenes: bool,
    filenames: tuple[str, ...],
    cluster: str | None,
    speed: float | None,
    no_input: bool,
) -> None:
    """Show what Reprieve does, in a few scenes, and the first of them on the page.

    With -f it answers as `reprieve whatif` does, for your own pods: nothing is changed in any cluster. Output
    and exit codes are those of that command.
    """
    if scenes and all_scenes:
        raise click.UsageError("--all: expected no --scene beside it")
    if cluster is None and not filenames:
        watched = not no_input and is_terminal(sys.stdin) and is_terminal(sys.stdout)
        names = scenes or (tuple(SCENES) if all_scenes else USUAL_SCENES)
        play_demo(
            names, replace(pace_for(watched), speed=speed), ctx.command_path, on_page=not scenes and watched
        )
        return
    if not filenames:
        raise click.UsageError("--cluster: expected -f FILE, too: the pods to ask about")
    if scenes or all_scenes:
        flag = "--scene" if scenes else "--all"
        raise click.UsageError(f"{flag}: expected no -f and no --cluster beside it")
    _ask_about(cluster, filenames)


def _ask_about(cluster: str | None, filenames: tuple[str, ...]) -> NoReturn:
    from reprieve.cli.whatif import whatif
    from reprieve_minicluster.scenes.placement import BUILT_IN

    files = [word for name in filenames for word in ("-f", name)]
    sys.exit(
        whatif.main(["--from", cluster or str(BUILT_IN), *files], "reprieve whatif", standalone_mode=False)
    )


def play_demo(names: tuple[str, ...], pace: ScenePacing, command: str, *, on_page: bool) -> None:
    """``on_page``: the first scene is shown on the page at the end, until a key is pressed."""
    with TemporaryDirectory() as folder:
        journal = Path(folder) / ON_THE_PAGE
        try:
            play_scenes(names, pace, command, journal)
            if on_page:
                asyncio.run(_serve_page(journal))
        except* DemoEndedError:
            show([BLANK])


def play_scenes(names: tuple[str, ...], pace: ScenePacing, command: str, journal: Path) -> None:
    """Raises DemoEndedError, or a group of it, if the user has seen enough."""
    for number, name in enumerate(names, start=1):
        show([TextLine(f"Scene {number} of {len(names)}: {name}", LineStyle.HEADING), BLANK])
        try:
            play_scene(name, pace, command, journal if name == ON_THE_PAGE else None)
        except* SceneSkippedError:
            pass
        show([BLANK])


async def _serve_page(journal: Path) -> None:
    from reprieve.assembly.caller_page import page_of_recording, recording_in

    async with page_of_recording(recording_in(journal)) as address:
        show([TextLine(f"The scene {ON_THE_PAGE} on the page: {address}", whole=True)])
        pressed = asyncio.Event()
        with _single_keys("any key: end. ") as file:
            asyncio.get_running_loop().add_reader(file, pressed.set)
            await pressed.wait()
    note("")


# --- pacing --------------------------------------------------------------------------------------


def pace_for(watched: bool) -> ScenePacing:
    """Pauses only on a terminal: output to a file or a pipe must not wait for a key."""
    if not watched:
        return ScenePacing(lambda _: None, lambda: None)
    return ScenePacing(wait_for_key, lambda: time.sleep(BREATH_SECONDS))


def wait_for_key(what: str) -> None:
    """Raises SceneSkippedError or DemoEndedError if that is what the key asks for."""
    key = _key(f"n: skip the scene, q: end, any other key: {what}. ")
    note("")
    match key:
        case "q" | "Q" | "":
            raise DemoEndedError
        case "n" | "N":
            raise SceneSkippedError


def _key(question: str) -> str:
    """One key; Ctrl-C is a signal as ever. Empty if the terminal is gone."""
    with _single_keys(question) as file:
        return os.read(file, 1).decode(errors="replace").replace("\x04", "")


@contextmanager
def _single_keys(question: str) -> Iterator[int]:
    """The terminal, from which keys can be read without waiting for Enter."""
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    try:
        tty.setcbreak(file, termios.TCSANOW)  # without dropping a key that was pressed already
        prompt(question)
        yield file
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


def is_terminal(stream: TextIO | None) -> bool:
    """A stream that was closed before the start is None."""
    return stream is not None and stream.isatty()
