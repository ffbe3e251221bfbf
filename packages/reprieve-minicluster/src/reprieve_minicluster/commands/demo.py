"""`reprieve demo`: a few scenes; with files of the user, what `reprieve whatif` says.

Knows the names of the scenes, and nothing of their content.
"""

import os
import sys
import termios
import time
import tty
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn, TextIO

import click

from reprieve.cli.flag_values import FiniteRange
from reprieve.cli.terminal import note, prompt
from reprieve.cli.terminal import show_fitting as show
from reprieve.report.text_layout import BLANK, LineStyle, TextLine
from reprieve_minicluster.scenes import SCENES, DemoEndedError, ScenePacing, SceneSkippedError, play_scene

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
    filenames: tuple[str, ...],
    cluster: str | None,
    speed: float | None,
    no_input: bool,
) -> None:
    """Show what Reprieve does, in a few scenes.

    With -f it answers as `reprieve whatif` does, for your own pods: nothing is changed in any cluster. Output
    and exit codes are those of that command.
    """
    if cluster is None and not filenames:
        pace = replace(pace_for(no_input), speed=speed)
        play_scenes(scenes or tuple(SCENES), pace, ctx.command_path)
        return
    if not filenames:
        raise click.UsageError("--cluster: expected -f FILE, too: the pods to ask about")
    if scenes:
        raise click.UsageError("--scene: expected no -f and no --cluster beside it")
    _ask_about(cluster, filenames)


def _ask_about(cluster: str | None, filenames: tuple[str, ...]) -> NoReturn:
    from reprieve.cli.whatif import whatif
    from reprieve_minicluster.scenes.placement import BUILT_IN

    files = [word for name in filenames for word in ("-f", name)]
    sys.exit(
        whatif.main(["--from", cluster or str(BUILT_IN), *files], "reprieve whatif", standalone_mode=False)
    )


def play_scenes(names: tuple[str, ...], pace: ScenePacing, command: str) -> None:
    try:
        for number, name in enumerate(names, start=1):
            if number > 1:
                _wait_for_scene(pace)
            show([TextLine(f"Scene {number} of {len(names)}: {name}", LineStyle.HEADING), BLANK])
            try:
                play_scene(name, pace, command)
            except* SceneSkippedError:
                show([BLANK])
    except* DemoEndedError:
        show([BLANK])


def _wait_for_scene(pace: ScenePacing) -> None:
    with suppress(SceneSkippedError):  # it ends anyway
        pace.wait("the next scene")
    show([BLANK])


# --- pacing --------------------------------------------------------------------------------------


def pace_for(alone: bool) -> ScenePacing:
    """Pauses only on a terminal: output to a file or a pipe must not wait for a key."""
    if alone or not is_terminal(sys.stdin) or not is_terminal(sys.stdout):
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
    """One key, without waiting for Enter; Ctrl-C is a signal as ever. Empty if the terminal is gone."""
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    try:
        tty.setcbreak(file, termios.TCSANOW)  # without dropping a key that was pressed already
        prompt(question)
        return os.read(file, 1).decode(errors="replace").replace("\x04", "")
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


def is_terminal(stream: TextIO | None) -> bool:
    """A stream that was closed before the start is None."""
    return stream is not None and stream.isatty()
