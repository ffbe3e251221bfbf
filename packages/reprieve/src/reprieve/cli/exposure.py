"""`reprieve exposure`: which demands could preempt the running pods, and what protects them?"""

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from reprieve.cli.cluster_flags import ClusterFlags, cluster_flags, cluster_of, namespace_of
from reprieve.cli.flag_values import text_flag
from reprieve.cli.main import meant
from reprieve.cli.terminal import DOCUMENT_FORMATS, note, output_flag, say_document, show

if TYPE_CHECKING:
    from reprieve.assembly.inquiries import InquirySettings
    from reprieve.inquiry.decoded_cluster import DecodedCluster
    from reprieve.inquiry.exposure import ExposureReport, PodFilter, PodShape
    from reprieve.inquiry.whatif import WhatIfAnswer


@click.command()
@cluster_flags
@text_flag(
    "--at-priority",
    "N|CLASS",
    "Only pods that a demand of this priority, or of this priority class, may ever preempt.",
)
@text_flag(
    "--shape",
    "cpu=4,memory=8Gi",
    "With --at-priority: how many of the pods a pod with these requests would preempt.",
)
@click.option("-l", "--selector", default="", metavar="app=web", help="Only pods with these labels.")
@output_flag("table", "wide", *DOCUMENT_FORMATS, "name")
@click.option("--no-headers", is_flag=True, help="Only the rows of the pods, for scripts.")
def exposure(  # noqa: PLR0913, PLR0917  one for each flag
    cluster: ClusterFlags, at_priority: str, shape: str, selector: str, output: str, no_headers: bool
) -> None:
    """Show which running pods can be preempted, from which priority on, and what protects them.

    Read access suffices, and nothing is changed. PREEMPTABLE FROM is the lowest priority that may preempt the
    pod now. Whether a demand needs the room is another question: add --shape, or use `whatif`.
    """
    if shape and not at_priority:
        raise click.UsageError("--shape needs --at-priority: the priority of the pod that needs the room")
    shown, asked = _filter(cluster, selector), _shape(shape)

    from reprieve.assembly.inquiries import exposure_of
    from reprieve.cli.policy_choice import chosen_settings, policy_choice
    from reprieve.inquiry.decoded_cluster import decoded

    read = decoded(cluster_of(cluster))
    settings = chosen_settings(policy_choice(cluster.policy, cluster.feature_gates), read)
    priority = _priority(at_priority, read) if at_priority else None
    report = exposure_of(read, settings, shown, priority)
    answer = _answer(asked, priority, read, settings) if asked is not None and priority is not None else None
    if answer is not None:
        report = replace(report, demand=answer.reports[0])
    if not report.pods and shown.namespace:
        note(f"Note: {_nothing_in(shown.namespace, read)}.")
    _print(report, answer, output, namespaces=not shown.namespace, headers=not no_headers)


def _print(
    report: "ExposureReport",
    answer: "WhatIfAnswer | None",
    output: str,
    *,
    namespaces: bool,
    headers: bool,
) -> None:
    from reprieve.inquiry.exposure_report import exposure_json, exposure_lines, names
    from reprieve.inquiry.whatif_report import answers_json
    from reprieve.report.text_layout import TextLine

    for sentence in report.notes:
        note(f"Note: {sentence}")
    match output:
        case "json" | "yaml":
            demand = answers_json([answer]) if answer is not None else None
            say_document(exposure_json(report, demand), output)
        case "name":
            show(map(TextLine, names(report)))
        case _:
            wide = output == "wide"
            show(exposure_lines(report, namespaces=namespaces, wide=wide, headers=headers))


def _nothing_in(namespace: str, cluster: "DecodedCluster") -> str:
    """Which namespace was looked at, and where pods run."""
    from reprieve.inquiry.asked_demands import is_running
    from reprieve.model.formatting import listed

    others = sorted({pod.metadata.namespace for pod in cluster.pods() if is_running(pod)} - {namespace})
    hint = f"; -A shows all, and pods also run in {listed(others)}" if others else ""
    return f"only namespace {namespace} was looked at{hint}"


def _answer(
    shape: "PodShape", priority: int, cluster: "DecodedCluster", settings: "InquirySettings"
) -> "WhatIfAnswer":
    from reprieve.inquiry.asked_demands import WhatIfQuestion
    from reprieve.inquiry.exposure import shape_manifest, with_class_for_shape
    from reprieve.inquiry.whatif import whatif

    question = WhatIfQuestion(
        with_class_for_shape(cluster, priority),
        settings.settings,
        settings.policy,
        manifests=(shape_manifest(shape),),
    )
    answer = whatif(question, cluster.source.taken_at)
    if answer.problems:
        raise click.ClickException("\n".join(answer.problems))
    return answer


# --- flags ---------------------------------------------------------------------------------------


def _filter(cluster: ClusterFlags, selector: str) -> "PodFilter":
    from reprieve.cluster.api.selector_text import SelectorSyntaxError, label_requirements
    from reprieve.inquiry.exposure import PodFilter

    try:
        labels = label_requirements(selector)
    except SelectorSyntaxError as error:
        raise click.UsageError(f"-l: {error}") from error
    return PodFilter("" if cluster.all_namespaces else namespace_of(cluster), labels)


def _shape(text: str) -> "PodShape | None":
    from reprieve.inquiry.exposure import ShapeSyntaxError, parse_shape

    try:
        return parse_shape(text) if text else None
    except ShapeSyntaxError as error:
        raise click.UsageError(f"--shape: {error}") from error


def _priority(text: str, cluster: "DecodedCluster") -> int:
    from reprieve.model.formatting import quoted
    from reprieve.model.objects import PriorityClass
    from reprieve.model.selectors import integer as whole_number
    from reprieve.preemption.eligibility import HIGHEST_PRIORITY

    if (number := whole_number(text)) is not None:
        if abs(number) > HIGHEST_PRIORITY:
            raise click.UsageError(f"--at-priority: expected a priority of 32 bits, got {text}")
        return number
    things = (one.object for one in cluster.seen)
    classes = {thing.metadata.name: thing for thing in things if isinstance(thing, PriorityClass)}
    if text in classes:
        if classes[text].preemption_policy == "Never":
            note(f"Note: PriorityClass {text} never preempts. The answer is for another class of its value.")
        return classes[text].value
    near = meant(get_close_matches(text, classes, n=1))
    raise click.UsageError(
        f"--at-priority: expected a number or the name of a PriorityClass, got {quoted(text)}{near}"
    )
