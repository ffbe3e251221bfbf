"""Which cluster does a command ask about: that of files, or of a live server?

The flags that all such commands share, and the cluster that they name. A cluster that cannot be read ends the
command with a sentence.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reprieve.cli.flag_values import text_flag
from reprieve.cli.input_files import STDIN, bytes_of
from reprieve.cli.terminal import progress_bar

if TYPE_CHECKING:
    from reprieve.inquiry.cluster_objects import ClusterObjects
    from reprieve.inquiry.object_files import ObjectFile
    from reprieve.inquiry.object_names import ObjectName

F = TypeVar("F", bound=Callable[..., Any])

_OBJECTS_BETWEEN_COLLECTIONS = 500_000
_SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".gz")  # of the files of a directory that are read


@dataclass(frozen=True, slots=True)
class ClusterFlags:
    """``files``: without any, the live server. ``policy``: the name of a policy or a file; empty: default."""

    files: tuple[str, ...] = ()
    context: str = ""
    kubeconfig: str = ""
    namespace: str = ""  # -n; empty if it was not given: see namespace_of
    all_namespaces: bool = False
    policy: str = ""
    feature_gates: str = ""


context_flag = text_flag("--context", "NAME", "A context of the kubeconfig. Default: the current one.")
kubeconfig_flag = click.option(
    "--kubeconfig",
    type=click.Path(),
    default="",
    metavar="FILE",
    help="Default: as for kubectl, or the pod's service account.",
)
_SOURCE = (
    click.option(
        "--from",
        "files",
        multiple=True,
        type=click.Path(),  # so that shells complete it
        metavar="FILE",
        help="Read the cluster from a snapshot or a dump (YAML, JSON, JSON lines, gzip) instead of a server; "
        "`-` for stdin, a directory for all its files; repeatable.",
    ),
    context_flag,
    kubeconfig_flag,
)
_SCOPE = (
    click.option(
        "-n", "--namespace", default="", metavar="NAME", help="Default: the namespace of the context."
    ),
    click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces."),
    text_flag(
        "--policy",
        "NAME|FILE",
        "How to decide: a policy or search such as Upstream, or a file with a KubeSchedulerConfiguration.",
    ),
    text_flag(
        "--feature-gates", "A=true,B=false", "Feature gates. Default: everything that the input uses is on."
    ),
)


def source_flags(command: F) -> F:
    """Adds --from, --context and --kubeconfig; the command gets them as its argument ``cluster``."""
    return _with(_SOURCE, command)


def cluster_flags(command: F) -> F:
    """Adds -n, -A, --policy and --feature-gates, too."""
    return _with((*_SOURCE, *_SCOPE), command)


def _with(options: tuple[Callable[[F], F], ...], command: F) -> F:
    @wraps(command)
    def called(*args: Any, **values: Any) -> Any:
        names = ClusterFlags.__dataclass_fields__.keys() & values.keys()
        flags = ClusterFlags(**{name: values.pop(name) for name in names})
        if flags.files and (flags.context or flags.kubeconfig):
            raise click.UsageError("--from reads files: it cannot be used with --context or --kubeconfig")
        with _rare_collections():
            return command(*args, cluster=flags, **values)

    decorated: Any = called
    for option in reversed(options):
        decorated = option(decorated)
    result: F = decorated
    return result


@contextmanager
def _rare_collections() -> Iterator[None]:
    """A large cluster is built of objects that stay until the answer: to search them for garbage again and
    again takes a tenth of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def cluster_of(flags: ClusterFlags) -> "ClusterObjects":
    """Reads the cluster, with progress on stderr. Its notes are for the command to show."""
    return _in_files(flags.files) if flags.files else _live(flags)


def namespace_of(flags: ClusterFlags) -> str:
    """-n, or the namespace of the context of the kubeconfig, or "default"; for files, -n or "default"."""
    if flags.namespace or flags.files:
        return flags.namespace or "default"
    from reprieve.assembly.cluster_reading import ClusterReadingError, current_namespace

    try:
        return current_namespace(flags.kubeconfig, flags.context)
    except ClusterReadingError as error:
        raise click.ClickException(str(error)) from error


def object_named(text: str, flags: ClusterFlags) -> "ObjectName":
    """The pod or group that an argument names: NAME, TYPE/NAME, or TYPE/NAMESPACE/NAME."""
    from reprieve.inquiry.object_names import ObjectNameError, object_name

    try:
        return object_name(text, namespace_of(flags))
    except ObjectNameError as error:
        raise click.UsageError(str(error)) from error


def _live(flags: ClusterFlags) -> "ClusterObjects":
    import asyncio

    from reprieve.assembly.cluster_reading import ClusterReadingError, read_cluster

    try:
        with progress_bar("reading the cluster") as bar:
            return asyncio.run(
                read_cluster(
                    flags.kubeconfig,
                    flags.context,
                    lambda at: bar.show(at.read, at.expected),
                    namespace=flags.namespace,
                )
            )
    except ClusterReadingError as error:
        raise click.ClickException(str(error)) from error


def _in_files(names: tuple[str, ...]) -> "ClusterObjects":
    from reprieve.inquiry.joined_files import cluster_in

    with progress_bar("reading files"):
        return cluster_in([objects_in(name) for name in expanded(names)], time.time())


def objects_in(name: str) -> "ObjectFile":
    """The objects of a file; a ClickException with its problems if it cannot be used."""
    from reprieve.inquiry.object_files import parse_objects

    found = parse_objects(bytes_of(name), "stdin" if name == STDIN else name)
    if found.problems:
        raise click.ClickException("\n".join(found.problems))
    return found


def expanded(names: tuple[str, ...]) -> Iterator[str]:
    """A directory stands for its files of known suffixes, sorted by name."""
    for name in names:
        folder = Path(name)
        if name == STDIN or not folder.is_dir():
            yield name
            continue
        files = sorted(str(file) for file in folder.iterdir() if file.name.endswith(_SUFFIXES))
        if not files:
            raise click.ClickException(f"{name}: expected files that end with {', '.join(_SUFFIXES)}")
        yield from files
