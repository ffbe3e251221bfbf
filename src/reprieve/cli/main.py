"""The command group: the names of the commands, and one line about each.

A command's module is imported only when the command is called, so that `--help` is fast.
"""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import PurePath
from types import TracebackType
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

# Name: the line that `reprieve --help` shows. The command is the function of that name in the module of that
# name.
COMMANDS = {
    "whatif": "Show what would happen if something were submitted. Alias: plan.",
    "demo": "Show what Reprieve does, in a few scenes.",
    "why": "Explain why a pod was preempted, or why it still waits.",
    "decisions": "List recent decisions that preempted pods, or left pods waiting.",
    "page": "Show a cluster in a browser, live or recorded.",
    "replay": "Replay a journal and compare the decisions.",
    "up": "Start a local cluster for kubectl, with simulated nodes.",
    "scheduler": "Run the scheduler of a real cluster.",
    "check": "Check whether Reprieve can schedule a cluster.",
    "snapshot": "Save a cluster in one file, or show such a file.",
    "config": "Print the default configuration, or validate a file.",
    "exposure": "Show which running pods can be preempted, and what protects them.",
    "simulate": "Play a trace of jobs under several policies, and compare them.",
    "status": "List the local clusters that are running.",
    "down": "Stop a local cluster.",
}
ALIASES = {"plan": "whatif"}


class LazyGroup(click.Group):
    """Imports a command when it is called, and not when it is only listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS and ctx.resilient_parsing:
            return None  # a shell completes what is mistyped, and must not see an error
        if cmd_name not in COMMANDS:
            from reprieve.cli.usage_errors import meant

            near = meant(get_close_matches(cmd_name, COMMANDS, n=1))
            raise click.UsageError(f"{cmd_name}: no such command{near}", ctx)
        command: click.Command = getattr(import_module(f"reprieve.cli.{cmd_name}"), cmd_name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """click would import every command for its help."""
        commands = [CompletionItem(n, help=line) for n, line in COMMANDS.items() if n.startswith(incomplete)]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        with _errors_in_one_form():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _errors_in_one_form():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@contextmanager
def _errors_in_one_form() -> Iterator[None]:
    """click writes the messages of errors itself, and as they are."""
    try:
        yield
    except click.ClickException as error:
        from reprieve.cli.usage_errors import in_one_form

        raise in_one_form(error) from error


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="reprieve", message="%(prog)s %(version)s")
def reprieve() -> None:
    """A Kubernetes scheduler that preempts as few pods as it can, and says why."""


def called_as(path: str) -> str:
    """The command as it was typed: kubectl runs kubectl-reprieve for `kubectl reprieve`."""
    return "kubectl reprieve" if PurePath(path).stem == "kubectl-reprieve" else "reprieve"


def main() -> NoReturn:
    sys.excepthook = _print_exception
    try:
        reprieve(prog_name=called_as(sys.argv[0]))
    except* BrokenPipeError:
        # The reader of our output is gone, as after `| head`. click ends quietly by itself, unless the error
        # comes out of a task group. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)  # only here if a reader is gone: click exits by itself; its own code for that


def _print_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The message of an unexpected error may have text of an object, too."""
    from reprieve.cli.terminal import note

    note("".join(traceback.format_exception(kind, error, trace)).removesuffix("\n"))
