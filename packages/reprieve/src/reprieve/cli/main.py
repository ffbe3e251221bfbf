"""The command group: the names of the commands, and one line about each.

A command's module is imported only when the command is called, so that `--help` is fast.
"""

import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import PurePath
from types import TracebackType
from typing import Any, NoReturn

import click
from click.exceptions import NoArgsIsHelpError, NoSuchCommand
from click.shell_completion import CompletionItem

# Name: the line that `reprieve --help` shows. The command is the function of that name in the module of that
# name, or, of another distribution, an entry point of that name in `reprieve.commands`.
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
ELSEWHERE = {
    "demo": "reprieve-minicluster",
    "up": "reprieve-minicluster",
    "status": "reprieve-minicluster",
    "down": "reprieve-minicluster",
    "simulate": "reprieve-study",
}


class LazyGroup(click.Group):
    """Imports a command when it is called, and not when it is only listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS and ctx.resilient_parsing:
            return None  # a shell completes what is mistyped, and must not see an error
        if cmd_name not in COMMANDS:
            near = meant(get_close_matches(cmd_name, COMMANDS, n=1))
            raise click.UsageError(f"{cmd_name}: no such command{near}", ctx)
        if cmd_name in ELSEWHERE:
            return _installed(cmd_name, ctx)
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


def _installed(name: str, ctx: click.Context) -> click.Command | None:
    """The command of another distribution; an error says which one to install."""
    found = next(iter(entry_points(group="reprieve.commands", name=name)), None)
    if found is not None:
        command: click.Command = found.load()
        return command
    if ctx.resilient_parsing:
        return None
    distribution = ELSEWHERE[name]
    raise click.UsageError(f"{name} is part of {distribution}: pip install {distribution}", ctx)


@contextmanager
def _errors_in_one_form() -> Iterator[None]:
    """click writes the messages of errors itself, and as they are."""
    try:
        yield
    except click.ClickException as error:
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


# --- errors --------------------------------------------------------------------------------------

# click words its errors in its own way; they are reworded here. A text that is not known keeps its words.
_ONE_OF = re.compile(r"'(.*)' is not one of (.*)")

_REWORDED = (
    (_ONE_OF, r'expected one of \2, got "\1"'),
    (re.compile(r"'(.*)' is not a valid integer.*"), r'expected a whole number, got "\1"'),
    (re.compile(r"'(.*)' is not a valid float.*"), r'expected a number, got "\1"'),
    (re.compile(r"'(.*)' is not a valid boolean.*"), r'expected true or false, got "\1"'),
    (re.compile(r"(.*) is not in the range (.*)"), r"expected a number in the range \2, got \1"),
)


def in_one_form(error: click.ClickException) -> click.ClickException:
    """The error with its text in the form `where: what was expected`, control characters spelled out.

    The text begins in lower case and ends without a full stop.
    """
    from reprieve.cli.terminal import visible_lines

    match error:
        case NoArgsIsHelpError():
            return error
        case click.UsageError():
            return click.UsageError(visible_lines(_sentence(error)), error.ctx)
    error.message = visible_lines(error.message)  # type: ignore[misc]  # its class has the exit code
    return error


def meant(possibilities: Sequence[str] | None) -> str:
    """A hint at the most similar name, for the end of a sentence."""
    return f' (did you mean "{possibilities[0]}"?)' if possibilities else ""


def _sentence(error: click.UsageError) -> str:
    match error:
        case click.NoSuchOption():
            return f"{error.option_name}: no such option{meant(error.possibilities)}"
        case NoSuchCommand():
            return f"{error.command_name}: no such command{meant(error.possibilities)}"
        case click.MissingParameter():
            return f"{_flags(error)}: required"
        case click.BadParameter():
            return f"{_flags(error)}: {_expected(_plain(error.message))}"
    return _plain(error.format_message())


def _flags(error: click.BadParameter) -> str:
    """The parameter that an error is about: all spellings of a flag, or the name of an argument."""
    if isinstance(error.param, click.Option):
        return ", ".join(error.param.opts)
    if error.param is not None:
        return error.param.make_metavar(error.ctx) if error.ctx is not None else str(error.param.name)
    return error.param_hint if isinstance(error.param_hint, str) else ", ".join(error.param_hint or ())


def _expected(message: str) -> str:
    for pattern, text in _REWORDED:
        if (found := pattern.fullmatch(message)) is not None:
            return found.expand(text).replace("'", "") + _nearest(found)
    return message


def _nearest(found: re.Match[str]) -> str:
    """A hint at the most similar value of the list, of which this is none."""
    if found.re is not _ONE_OF:
        return ""
    known = [word.strip("' ") for word in found[2].split(",")]
    return meant(get_close_matches(found[1], known, n=1))


def _plain(message: str) -> str:
    return (message[:1].lower() + message[1:]).removesuffix(".")
