"""How does kubectl complete `kubectl reprieve …`?

kubectl runs `kubectl_complete-reprieve` with the words after `kubectl reprieve`, the last one incomplete. A
line of its output is a word and a description, the last line is a directive to the shell.
"""

import sys
from collections.abc import Sequence

from click.shell_completion import CompletionItem, ShellComplete

from reprieve.cli.main import called_as, reprieve

# Directives of cobra, on which kubectl is built.
_FILES, _NO_FILES, _DIRECTORIES = 0, 4, 16


def main() -> None:
    # Not through ``terminal``: the tab belongs to the format, and all words are those of our own help.
    sys.stdout.writelines(f"{line}\n" for line in completion_lines(sys.argv[1:]))


def completion_lines(words: Sequence[str]) -> list[str]:
    """``words``: after `kubectl reprieve`; the last one is incomplete and may be empty."""
    *complete, incomplete = words or [""]
    completing = ShellComplete(reprieve, {}, called_as("kubectl-reprieve"), "")
    items = completing.get_completions(complete, incomplete)
    return [*(_line(item) for item in items if item.type == "plain"), f":{_directive(items)}"]


def _line(item: CompletionItem) -> str:
    return f"{item.value}\t{item.help}" if item.help else str(item.value)


def _directive(items: Sequence[CompletionItem]) -> int:
    kinds = {item.type for item in items}
    if "file" in kinds:
        return _FILES
    return _DIRECTORIES if "dir" in kinds else _NO_FILES
