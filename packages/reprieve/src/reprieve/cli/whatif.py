"""`reprieve whatif`: what would happen if this were submitted, before it is."""

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reprieve.cli.cluster_flags import (
    ClusterFlags,
    cluster_flags,
    cluster_of,
    expanded,
    namespace_of,
    object_named,
    objects_in,
)
from reprieve.cli.flag_values import text_flag
from reprieve.cli.terminal import (
    DOCUMENT_FORMATS,
    OLDER_FORMATS,
    format_and_version,
    note,
    output_flag,
    progress_bar,
    say,
    say_document,
    show,
)

if TYPE_CHECKING:
    from reprieve.assembly.inquiries import PolicyChoice
    from reprieve.inquiry.decoded_cluster import DecodedCluster
    from reprieve.inquiry.manifests import Manifest
    from reprieve.inquiry.resizes import Resize
    from reprieve.inquiry.whatif import WhatIfAnswer
    from reprieve.inquiry.world_changes import WorldChange
    from reprieve.model.json import Json

_TYPES = (
    "pod",
    "pods",
    "po",
    "podgroup",
    "podgroups",
    "pg",
    "compositepodgroup",
    "compositepodgroups",
    "node",
)
_DIGEST = re.compile(r"[0-9a-f]{16}")
_COPIES = re.compile(r"(?P<shape>.+?)x(?P<count>[0-9]+)", re.ASCII)


@click.command()
@click.argument("objects", nargs=-1, metavar="[pod/NAME | podgroup/NAME | compositepodgroup/NAME]…")
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    type=click.Path(),  # so that shells complete it
    metavar="FILE",
    help="Manifests to ask about; `-` for stdin, a directory for all its files; repeatable.",
)
@text_flag(
    "--resize",
    "POD[:CONTAINER]=cpu:4,memory:8Gi",
    "Ask about the resize of a running pod; repeatable.",
    name="resizes",
    repeatable=True,
)
@text_flag("--set-priority", "CLASS", "As if the demands had this PriorityClass.", name="priority_class")
@text_flag("--cordon", "NODE", "As if this node were cordoned; repeatable.", name="cordoned", repeatable=True)
@text_flag(
    "--drain",
    "NODE",
    "As if this node were drained; the pods that move are part of the answer; repeatable.",
    name="drained",
    repeatable=True,
)
@text_flag(
    "--add-node",
    "SHAPE[xN]",
    "As if there were N more nodes: gpu8, cpu16, a FILE with a Node, or node/NAME for one like it.",
    name="added",
    repeatable=True,
)
@text_flag(
    "--remove",
    "POD|GROUP",
    "As if this pod, or the pods of this group, were gone; repeatable.",
    name="removed",
    repeatable=True,
)
@click.option("--with-pending", is_flag=True, help="Other pods that wait are decided, too.")
@text_flag("--search", "NAME", "How victims are found: PriorityCeiling, Upstream or LeastDisturbance.")
@click.option(
    "--disturbance",
    metavar="A,B,…",
    help="By which criteria plans are compared, the most important first.",
)
@text_flag("--budgets", "NAME", "How evictions count against PodDisruptionBudgets: Joint or Upstream.")
@text_flag(
    "--compare",
    "NAME|FILE",
    "Show the answer of this policy or search beside that of --policy, with costs; repeatable.",
    name="compared",
    repeatable=True,
)
@click.option(
    "--key",
    "key_file",
    type=click.Path(),
    metavar="FILE",
    help="Of an anonymous snapshot, as `snapshot save --anonymise --key` wrote it: names in manifests and "
    "flags are replaced as in the snapshot.",
)
@text_flag(
    "--if-unchanged",
    "DIGEST",
    "Say whether the answer with this digest (in -o json, or by -o digest) still holds.",
    name="expected",
)
@click.option(
    "--alternatives",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    metavar="N",
    help="Show this many plans and nodes that were not chosen.",
)
@output_flag("text", *DOCUMENT_FORMATS, "markdown", "digest", *OLDER_FORMATS)
@cluster_flags
@click.pass_context
def whatif(ctx: click.Context, /, cluster: ClusterFlags, **flags: Any) -> None:
    """Show what would happen if manifests were created: where pods go, which pods are preempted, and why.

    The cluster is only read. Ask about manifests (-f), resizes (--resize), pods that wait (pod/NAME), or the
    pods of a node to be drained (--drain).

    Exit codes: 0 fits without preemption; 10 fits by preempting pods; 11 and breaks a PodDisruptionBudget; 12
    fits as far as could be seen, but only pods of some namespaces were read; 20 cannot fit; 21 unknown,
    because it needs devices; 30 with --if-unchanged, if another answer holds now; 1 an error; 2 wrong usage.
    Of several demands, the worst counts.
    """
    if not (flags["objects"] or flags["filenames"] or flags["resizes"] or flags["drained"]):
        raise click.UsageError("nothing to ask about: expected -f FILE, --resize, --drain or pod/NAME")
    if flags["expected"] and not _DIGEST.fullmatch(flags["expected"]):
        raise click.UsageError(f"--if-unchanged: expected 16 hexadecimal digits, got {flags['expected']!r}")
    from reprieve.inquiry.decoded_cluster import decoded
    from reprieve.inquiry.whatif_report import CHANGED, answers_json, digest_of, exit_code
    from reprieve.inquiry.whatif_text import answer_lines, answer_markdown

    manifests = tuple(_manifests(flags["filenames"]))
    known = decoded(cluster_of(cluster))
    if flags["key_file"] is not None:
        manifests, cluster, flags = _anonymous(manifests, known, cluster, flags)
    choices = [*_choices(cluster, flags)]
    with progress_bar("deciding"):
        answers = [_answer(choice, known, manifests, cluster, flags) for choice in choices]
    problems = dict.fromkeys(problem for answer in answers for problem in answer.problems)
    if problems:
        raise click.ClickException("\n".join(problems))
    for sentence in dict.fromkeys(sentence for answer in answers for sentence in answer.notes):
        note(f"Note: {sentence}")
    output, version = format_and_version(flags["output"])
    match output:
        case "json" | "yaml":
            say_document(answers_json(answers, version), output)
        case "markdown":
            say(answer_markdown(answers, flags["alternatives"]))
        case "digest":
            say(digest_of(answers[0]))
        case _:
            show(answer_lines(answers, flags["alternatives"]))
    if (expected := flags["expected"]) and (found := digest_of(answers[0])) != expected:
        note(f"The answer has changed: its digest is {found}, not {expected}.")
        ctx.exit(CHANGED)
    ctx.exit(exit_code(answers[0]))


def _answer(
    choice: "PolicyChoice",
    known: "DecodedCluster",
    manifests: tuple["Manifest", ...],
    cluster: ClusterFlags,
    flags: dict[str, Any],
) -> "WhatIfAnswer":
    from reprieve.assembly.inquiries import inquiry_settings
    from reprieve.cli.policy_choice import choice_error
    from reprieve.config import InvalidConfigurationError
    from reprieve.inquiry.asked_demands import WhatIfQuestion
    from reprieve.inquiry.earliest_start import with_starts
    from reprieve.inquiry.whatif import whatif as answered

    resizes = tuple(_resize(text, cluster) for text in flags["resizes"])
    bodies = [manifest.body for manifest in manifests]
    try:
        chosen = inquiry_settings(choice, known, bodies, resizes=bool(resizes))
    except InvalidConfigurationError as error:
        raise choice_error(choice, error) from error
    question = WhatIfQuestion(
        cluster=known,
        settings=chosen.settings,
        policy=chosen.policy,
        manifests=manifests,
        existing=tuple(object_named(text, cluster) for text in flags["objects"]),
        resizes=resizes,
        changes=tuple(_changes(flags, known, cluster)),
        priority_class=flags["priority_class"],
        with_pending=flags["with_pending"],
        namespace=namespace_of(cluster),
    )
    moment = known.source.taken_at or time.time()
    answer = with_starts(question, answered(question, moment), moment)
    return replace(answer, notes=(*answer.notes, *chosen.notes))


# --- what is asked -------------------------------------------------------------------------------


def _manifests(filenames: tuple[str, ...]) -> Iterator["Manifest"]:
    from reprieve.inquiry.decoded_cluster import parsed
    from reprieve.inquiry.manifests import Manifest

    for filename in expanded(filenames):
        found = objects_in(filename)
        for thing, document in zip(found.objects, found.documents, strict=True):
            where = filename if len(found.objects) == 1 else f"{filename}, document {document}"
            yield Manifest(parsed(thing), where)


def _anonymous(
    manifests: tuple["Manifest", ...], known: "DecodedCluster", cluster: ClusterFlags, flags: dict[str, Any]
) -> tuple[tuple["Manifest", ...], ClusterFlags, dict[str, Any]]:
    """The question as somebody would ask it who knows only the names of the snapshot."""
    from reprieve.cli.input_files import bytes_of
    from reprieve.inquiry.anonymisation import SnapshotKeyError, read_key, renamed_manifests

    try:
        key = read_key(bytes_of(flags["key_file"]), known.source)
    except SnapshotKeyError as error:
        raise click.ClickException(f"{flags['key_file']}: {error}") from error
    renamed, key = renamed_manifests(manifests, key, namespace_of(cluster))
    for before, after in zip(manifests, renamed, strict=True):
        if before is not after:
            old, new = (_called(manifest.body) for manifest in (before, after))
            note(f"Note: {after.body['kind']} {old} is called {new} in the answer, as in the snapshot.")
    names = key.names
    changed: dict[str, Any] = {
        name: tuple(_renamed(text, names) for text in flags[name])
        for name in ("objects", "removed", "cordoned", "drained")
    }
    changed["resizes"] = tuple(_renamed_resize(text, names) for text in flags["resizes"])
    changed["added"] = tuple(_renamed_shape(text, names) for text in flags["added"])
    changed["priority_class"] = names.get(flags["priority_class"], flags["priority_class"])
    namespace = namespace_of(cluster)
    return renamed, replace(cluster, namespace=names.get(namespace, namespace)), {**flags, **changed}


def _called(body: "Json") -> str:
    meta = body["metadata"]
    name = meta.get("name") or meta.get("generateName", "")
    return f"{meta['namespace']}/{name}" if meta.get("namespace") else name


def _renamed(text: str, names: dict[str, str]) -> str:
    """NAME, TYPE/NAME, NAMESPACE/NAME or TYPE/NAMESPACE/NAME."""
    kind, slash, rest = text.partition("/")
    if slash and kind.lower() in _TYPES:
        return f"{kind}/{_renamed(rest, names)}"
    return "/".join(names.get(part, part) for part in text.split("/"))


def _renamed_resize(text: str, names: dict[str, str]) -> str:
    target, equals, amounts = text.partition("=")
    name, colon, container = target.partition(":")
    return f"{_renamed(name, names)}{colon}{names.get(container, container)}{equals}{amounts}"


def _renamed_shape(text: str, names: dict[str, str]) -> str:
    if not text.startswith("node/"):
        return text
    shape, count = _shape(text)
    return f"{_renamed(shape, names)}x{count}"


def _resize(text: str, cluster: ClusterFlags) -> "Resize":
    from reprieve.inquiry.resizes import Resize

    target, _, amounts = text.partition("=")
    name, _, container = target.partition(":")
    pairs = [tuple(pair.partition(":")[::2]) for pair in amounts.split(",")]
    if not name or not all(resource and quantity for resource, quantity in pairs):
        raise click.UsageError(f"--resize: expected POD=cpu:4,memory:8Gi, got {text!r}")
    requests = tuple((resource, quantity) for resource, quantity in pairs)
    return Resize(object_named(name, cluster), requests, container)


def _changes(
    flags: dict[str, Any], known: "DecodedCluster", cluster: ClusterFlags
) -> Iterator["WorldChange"]:
    from reprieve.inquiry.world_changes import AddNodes, Cordon, Drain, Remove

    for text in flags["added"]:
        shape, count = _shape(text)
        for template in _templates(shape, known):
            yield AddNodes(template, count)
    yield from (Remove(object_named(text, cluster)) for text in flags["removed"])
    yield from (Cordon(node.removeprefix("node/")) for node in flags["cordoned"])
    yield from (Drain(node.removeprefix("node/")) for node in flags["drained"])


def _shape(text: str) -> tuple[str, int]:
    found = _COPIES.fullmatch(text)
    if found is None or Path(text).exists():
        return text, 1
    return found["shape"], int(found["count"])


def _templates(shape: str, known: "DecodedCluster") -> Iterable["Json"]:
    from reprieve.cli.input_files import node_templates

    if shape.startswith("node/"):
        found = known.by_name.find("Node", "", shape.removeprefix("node/"))
        if found is None:
            raise click.ClickException(f"--add-node {shape}: there is no such node")
        return [found]
    try:
        return node_templates(shape)
    except click.BadParameter as error:
        raise click.BadParameter(error.message, param_hint="--add-node") from error


# --- how it is decided ---------------------------------------------------------------------------


def _choices(cluster: ClusterFlags, flags: dict[str, Any]) -> Iterator["PolicyChoice"]:
    """The policy that is asked about, and those that are compared with it as they are."""
    from reprieve.cli.policy_choice import compared_choice, criteria_in, policy_choice

    named = flags["search"], flags["budgets"], flags["disturbance"]
    asked = policy_choice(cluster.policy, cluster.feature_gates, *named)
    others = [compared_choice(name, cluster.feature_gates) for name in flags["compared"]]
    criteria = criteria_in(flags["disturbance"]) if others else None
    yield from (replace(choice, measured=criteria) for choice in (asked, *others))
