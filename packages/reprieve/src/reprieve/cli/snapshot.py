"""`reprieve snapshot`: saves a cluster in one file, and shows what is in such a file."""

import gzip
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprieve.cli.cluster_flags import ClusterFlags, cluster_of, source_flags
from reprieve.cli.decision_flags import decision_source_flags
from reprieve.cli.input_files import STDIN
from reprieve.cli.terminal import DOCUMENT_FORMATS, note, output_flag, progress_bar, say, say_document, show

if TYPE_CHECKING:
    from reprieve.inquiry.anonymisation import SnapshotKey
    from reprieve.inquiry.cluster_objects import ClusterObjects

_FASTEST_GOOD_LEVEL = 5  # of gzip: level 9 takes four times as long for 3 % less


@click.group()
def snapshot() -> None:
    """Save a cluster in one file, or show what is in such a file."""


@snapshot.command()
@click.argument("file")
@click.option(
    "--anonymise", is_flag=True, help="Replace names consistently, so that decisions stay the same."
)
@click.option(
    "--key",
    "key_file",
    type=click.Path(),
    metavar="FILE",
    help="With --anonymise: write there which name stands for which, for `whatif --key`.",
)
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    help="Save this KubeSchedulerConfiguration with the cluster; `-` for stdin.",
)
@decision_source_flags
@source_flags
def save(
    file: str,
    cluster: ClusterFlags,
    *,
    anonymise: bool,
    key_file: str | None,
    config_file: str | None,
    **source: Any,
) -> None:
    """Read a cluster, and save what placement and preemption read of it in FILE, with recent decisions.

    FILE has one JSON object a line, and is compressed if its name ends with .gz; `-` is stdout. It has no
    Secrets, ConfigMaps, environment variables, commands or managed fields. Nothing is changed in the cluster.

    Exit codes: 0 if the cluster was saved, perhaps without kinds that may not be listed; 1 if it was not.
    """
    from reprieve.inquiry.snapshot_file import pruned, snapshot_lines

    if key_file is not None and not anonymise:
        raise click.UsageError("--key: expected --anonymise, too")
    found = _decided(_configured(cluster_of(cluster), config_file), cluster, source)
    with progress_bar("writing the snapshot"):
        kept = pruned(found)
        if anonymise:
            from reprieve.inquiry.anonymisation import anonymised

            kept, key = anonymised(kept)
            if key_file is not None:
                _write_key(key_file, key)
        _write(file, snapshot_lines(kept))
    for sentence in kept.notes:
        note(f"Note: {sentence}.")
    if file != STDIN:
        say(f"Saved {len(kept.objects)} objects in {file}.")


@snapshot.command(name="show")
@click.argument("file")
@output_flag("text", *DOCUMENT_FORMATS)
def show_file(file: str, output: str) -> None:
    """Show what is in FILE: a snapshot, or a dump of objects; `-` for stdin."""
    from reprieve.inquiry.snapshot_file import contents_document, contents_lines, contents_of

    contents = contents_of(cluster_of(ClusterFlags(files=(file,))))
    if output in DOCUMENT_FORMATS:
        say_document(contents_document(contents), output)
    else:
        show(contents_lines(contents))


def _configured(cluster: "ClusterObjects", config_file: str | None) -> "ClusterObjects":
    if config_file is None:
        return cluster
    from dataclasses import replace

    from reprieve.cli.config import config_error, document_in, show_warnings
    from reprieve.config import InvalidConfigurationError, parse_configuration

    document = document_in(config_file)
    try:
        show_warnings(config_file, parse_configuration(document))
    except InvalidConfigurationError as error:
        raise config_error(config_file, error) from error
    return replace(cluster, configuration=document if isinstance(document, dict) else None)


def _decided(found: "ClusterObjects", cluster: ClusterFlags, source: dict[str, Any]) -> "ClusterObjects":
    """The decisions of a source that a flag names take the place of those that came with the cluster."""
    if not (source["journal"] or source["server"]):
        return found
    from dataclasses import replace

    from reprieve.cli.decision_flags import decision_flags, documents_of

    return replace(found, decisions=documents_of(decision_flags(cluster, source)))


def _write_key(file: str, key: "SnapshotKey") -> None:
    """For its owner alone: it has the names that the snapshot hides."""
    import msgspec

    path = Path(file)
    try:
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
            opened.write(msgspec.json.encode(key) + b"\n")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise click.ClickException(f"{file}: cannot be written: {reason}") from error


def _write(file: str, lines: Iterable[bytes]) -> None:
    """Under another name first: a snapshot that is cut off must not replace one that is not."""
    if file == STDIN:
        sys.stdout.buffer.writelines(lines)
        sys.stdout.buffer.flush()
        return
    path = Path(file)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.suffix == ".gz":
            with gzip.open(unfinished, "wb", compresslevel=_FASTEST_GOOD_LEVEL) as compressed:
                compressed.writelines(lines)
        else:
            with unfinished.open("wb") as plain:
                plain.writelines(lines)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        reason = (error.strerror or str(error)).lower()
        raise click.ClickException(f"{file}: cannot be written: {reason}") from error
