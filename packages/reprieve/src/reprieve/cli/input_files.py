"""What is in a file that the command line names? Text, perhaps compressed with gzip, or templates of nodes.

`-` is stdin. A file that cannot be opened ends the command with a sentence.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from reprieve.cluster.api.compression import DamagedFileError, read_file, read_stream, uncompressed
from reprieve.model.formatting import quoted
from reprieve.model.json import Json

# --- text ----------------------------------------------------------------------------------------


STDIN = "-"


def bytes_of(filename: str) -> bytes:
    try:
        if filename == STDIN:
            return read_stream(sys.stdin.buffer) if sys.stdin is not None else b""
        return read_file(Path(filename))
    except DamagedFileError as error:
        raise click.ClickException(f"{filename}: {error}") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise click.ClickException(f"{filename}: cannot be read: {reason}") from error


def text_of(filename: str) -> str:
    try:
        return uncompressed(bytes_of(filename)).decode()
    except DamagedFileError as error:
        raise click.ClickException(f"{filename}: {error}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{filename}: expected text in UTF-8") from error


# --- templates of nodes --------------------------------------------------------------------------


def _shape(name: str, **resources: str) -> Json:
    offered = {**resources, "ephemeral-storage": "1Ti", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name[:3], "labels": {"node.kubernetes.io/instance-type": name}},
        "status": {"capacity": offered, "allocatable": offered},
    }


SHAPES: Mapping[str, Json] = {
    "gpu8": _shape("gpu8", **{"cpu": "96", "memory": "768Gi", "nvidia.com/gpu": "8"}),
    "cpu16": _shape("cpu16", cpu="16", memory="64Gi"),
}


def node_templates(shape: str) -> list[dict[str, Any]]:
    from reprieve.cluster.api.documents import documents

    if shape in SHAPES:
        return [SHAPES[shape]]
    if not Path(shape).exists():
        raise click.BadParameter(
            f"expected one of {', '.join(SHAPES)}, or a file, got {quoted(shape)}", param_hint="--shape"
        )
    found = list(documents(text_of(shape)))
    if not found:
        raise click.ClickException(f"{shape}: expected one or more Nodes, got an empty file")
    return [_template(shape, node) for node in found]


def _template(shape: str, node: object) -> dict[str, Any]:
    from reprieve.cluster.api.documents import Unparsed
    from reprieve.config.decoding import value_text

    if isinstance(node, Unparsed):
        raise click.ClickException(f"{shape}: {node.expected}")
    if not isinstance(node, dict):
        raise click.ClickException(f"{shape}: expected one or more Nodes, as YAML or JSON")
    if node.get("kind") != "Node":
        raise click.ClickException(f"{shape}: kind: expected Node, got {value_text(node.get('kind'))}")
    return node
