"""Which pod or group does an argument name?"""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reprieve.inquiry.object_names import ObjectName

_KINDS = {
    "pod": "Pod",
    "pods": "Pod",
    "po": "Pod",
    "podgroup": "PodGroup",
    "podgroups": "PodGroup",
    "compositepodgroup": "CompositePodGroup",
    "compositepodgroups": "CompositePodGroup",
}


def object_name(text: str, namespace: str) -> "ObjectName":
    """NAME, TYPE/NAME, or TYPE/NAMESPACE/NAME."""
    from reprieve.inquiry.object_names import ObjectName

    head, slash, rest = text.partition("/")
    kind = _KINDS.get(head.lower(), "") if slash else ""
    name = rest if kind else text
    inside, slash, bare = name.partition("/")
    if "/" in bare or not name or (slash and not bare):
        raise click.UsageError(
            f"expected pod/NAME, podgroup/NAME, compositepodgroup/NAME or NAMESPACE/NAME, got {text!r}"
        )
    return ObjectName(inside, bare, kind) if slash else ObjectName(namespace, name, kind)
