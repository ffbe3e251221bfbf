"""Which command was asked for?

Knows the names of the commands and one line about each, and nothing of what they do: a command's module
is imported when the command is called, so that asking for help costs nothing.
"""

import sys
from importlib import import_module
from pathlib import PurePath
from typing import Any

import click

# Name: the one line that the overview shows. The command is the function of that name in the module of
# that name beside this one.
COMMANDS = {
    "demo": "Show in a few scenes what Reprieve does.",
    "replay": "Repeat what a scheduler wrote down: does it decide the same?",
    "up": "Start a cluster on this machine that kubectl can use.",
    "scheduler": "Schedule a real cluster.",
    "check": "Can Reprieve be the scheduler of a cluster?",
    "config": "The defaults of the configuration, and whether a file is right.",
    "status": "Show the clusters that are up on this machine.",
    "down": "End one of them.",
}


class LazyGroup(click.Group):
    """Imports a command when it is called, and not when it is only listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"reprieve.cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="reprieve", message="%(prog)s %(version)s")
def reprieve() -> None:
    """A Kubernetes scheduler that makes room for the important by disturbing as few as it can."""


def called_as(path: str) -> str:
    """The words somebody typed to get here: kubectl runs kubectl-reprieve for `kubectl reprieve`."""
    return "kubectl reprieve" if PurePath(path).stem == "kubectl-reprieve" else "reprieve"


def main() -> Any:
    return reprieve(prog_name=called_as(sys.argv[0]))
