"""An answer to why, as lines for people and as JSON for programs."""

from collections.abc import Iterator

from reprieve.inquiry.decision_list import kept_document
from reprieve.inquiry.why import Remedy, Source, Statement, WhyReport, WhyState
from reprieve.model.formatting import counted, moment_text
from reprieve.model.json import Json
from reprieve.report.decisions import decision_lines
from reprieve.report.text_layout import BLANK, LineStyle, TextLine, indented
from reprieve.runtime.recent_decisions import KeptDecision
from reprieve.scheduler.decision_document import API_VERSION

_SOURCES = {
    Source.DECISION: "decision",
    Source.EVENT: "event",
    Source.CONDITION: "condition",
    Source.OBJECT: "cluster now",
    Source.WHAT_IF: "what-if now",
}
_TITLES = {
    WhyState.PREEMPTED: "What would have protected it:",
    WhyState.PENDING: "What would let it run, least effort first:",
    WhyState.RESIZE_DEFERRED: "What would let it grow, least effort first:",
}


# --- for people ----------------------------------------------------------------------------------


def why_lines(report: WhyReport) -> list[TextLine]:
    """The statements, each with its source in brackets; then what can be done."""
    if report.state is WhyState.DECIDED and report.decision is not None:
        return [*decision_lines(report.decision.decision), *indented(_plan_lines(report.decision))]
    style = LineStyle.PLAIN if report.state is WhyState.RUNNING else LineStyle.BAD
    lines = [TextLine(report.headline, style)]
    if report.decision is not None:
        lines.append(TextLine(f"Decision {report.decision.decision.id}.", LineStyle.FAINT))
    if report.statements:
        width = max(len(statement.topic) for statement in report.statements)
        topics = ("", *(one.topic for one in report.statements))
        pairs = zip(topics, report.statements, strict=False)
        lines += [BLANK, *indented(_statement(one, before, width) for before, one in pairs)]
    if report.remedies:
        title = _TITLES.get(report.state, "What can be done:")
        lines += [BLANK, TextLine(title, LineStyle.HEADING), *indented(_numbered(report.remedies))]
    return lines


def _statement(statement: Statement, before: str, width: int) -> TextLine:
    """``before``: the topic of the line above, which is not repeated."""
    topic = statement.topic if statement.topic != before else ""
    return TextLine(f"{topic.ljust(width)}  {statement.text} [{_SOURCES[statement.source]}]")


def _numbered(remedies: tuple[Remedy, ...]) -> Iterator[TextLine]:
    for number, remedy in enumerate(remedies, start=1):
        yield TextLine(f"{number}. {remedy.text}")
        if remedy.how:
            yield TextLine(f"   How: {remedy.how}", LineStyle.FAINT)


def _plan_lines(kept: KeptDecision) -> Iterator[TextLine]:
    if kept.attempts > 1:
        yield TextLine(f"It was decided {kept.attempts} times in a row with this outcome; this is the last.")
    plan = kept.plan
    if plan is None:
        return
    yield BLANK
    if plan.end is None:
        yield TextLine(f"The plan is being carried out: {plan.stage}.")
    else:
        when = f" at {moment_text(plan.ended_at)}" if plan.ended_at is not None else ""
        yield TextLine(f"The plan ended{when}: {plan.end.value} (last stage: {plan.stage}).")
    if plan.used:
        yield TextLine(f"The preemptor used the room of {counted(len(plan.used), 'evicted pod')}.")
    if plan.wasted:
        text = f"{counted(len(plan.wasted), 'pod')} evicted in vain: the preemptor did not use the room."
        yield TextLine(text, LineStyle.BAD)


# --- for programs --------------------------------------------------------------------------------


def why_json(report: WhyReport, version: str = API_VERSION) -> Json:
    subject, decision = report.subject, report.decision
    kept = kept_document(decision, version=version) if decision is not None else None
    return {
        "apiVersion": version,
        "kind": "WhyReport",
        "subject": {
            "kind": subject.kind,
            "namespace": subject.namespace or None,
            "name": subject.name or None,
            "uid": subject.uid or None,
        },
        "state": str(report.state),
        "text": report.headline,
        "statements": [
            {"topic": one.topic, "code": one.code, "text": one.text, "source": str(one.source)}
            for one in report.statements
        ],
        "remedies": [{"code": one.code, "text": one.text, "how": one.how or None} for one in report.remedies],
        "decision": kept,
        "notes": list(report.notes),
    }
