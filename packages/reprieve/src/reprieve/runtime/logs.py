"""The log: its form (JSON, or text for people), its verbosity, and what it says of scheduling.

Secrets never get into it, nor control characters in text that users chose. What else is logged is decided by
the modules that log.
"""

import json
import logging
import re
import sys
import time
from collections.abc import Sequence
from typing import TextIO

from reprieve.model.effects import Effect
from reprieve.model.events import Event, EvictionsRead, Failed, Synced, Unknown
from reprieve.model.formatting import counted, moment_text, visible
from reprieve.model.moment import Moment
from reprieve.scheduler.plans.plan_records import (
    GrowthEnded,
    PlanEnded,
    PlanOpened,
    PlanRecord,
    StageReached,
    VictimsJudged,
)
from reprieve.scheduler.reporting.decision import Decided

DECISIONS = "reprieve.decisions"  # a line for each decision and each end of a plan, from verbosity 2 on
_DECISIONS_FROM, _EVERYTHING_FROM = 2, 4
# No module logs one on purpose. Error texts about a request or a kubeconfig come from elsewhere.
_SECRETS = re.compile(r"(?i)\b(bearer|basic)\s+\S+|\beyJ[\w-]+\.[\w-]+\.[\w-]*|-----BEGIN [^-]*KEY-----[^-]*")
_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": round(record.created, 6),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": without_secrets(record.getMessage()),
            **{name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD},
        }
        if record.exc_info:
            line["error"] = without_secrets(self.formatException(record.exc_info))
        # In ASCII: the log may be read on a terminal, which obeys more characters than JSON has to escape.
        return json.dumps(line, default=str, separators=(",", ":"))


class TextLines(logging.Formatter):
    """Tracebacks are indented: text in them that has line breaks cannot pass for another record."""

    def format(self, record: logging.LogRecord) -> str:
        about = (
            f"{record.levelname.capitalize()}:"
            if record.levelno > logging.INFO
            else time.strftime("%H:%M:%S", time.localtime(record.created))
        )
        lines = [" ".join([about, without_secrets(record.getMessage()), *_details(record)])]
        if record.exc_info:
            trace = without_secrets(self.formatException(record.exc_info))
            lines += [f"  {line}" for line in trace.split("\n")]
        return "\n".join(map(visible, lines))


def _details(record: logging.LogRecord) -> list[str]:
    """What is recorded beside the message, as `name=value`."""
    found = ((name, value) for name, value in vars(record).items() if name not in _OF_EVERY_RECORD)
    return [
        f"{name}={','.join(map(str, value)) if isinstance(value, list | tuple) else value}"
        for name, value in found
    ]


def without_secrets(text: str) -> str:
    return _SECRETS.sub("[hidden]", text)


def log_as_text(*, decisions: bool = False) -> None:
    """Send warnings and errors to stderr as text, perhaps decisions, and nothing else from now on."""
    handler = logging.StreamHandler()
    handler.setFormatter(TextLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(DECISIONS).setLevel(logging.INFO if decisions else logging.WARNING)


def log_to(stream: TextIO | None = None, verbosity: int = 0) -> None:
    """Send all log records there, and nowhere else, from now on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    everything = verbosity >= _EVERYTHING_FROM
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("reprieve").setLevel(logging.DEBUG if everything else logging.INFO)
    told = verbosity >= _DECISIONS_FROM
    logging.getLogger(DECISIONS).setLevel(logging.INFO if told else logging.WARNING)


# --- what is logged of scheduling ------------------------------------------------------------------


_log = logging.getLogger(__name__)
_decisions = logging.getLogger(DECISIONS)


class DecisionLog:
    """Logs decisions, how plans ended, and which calls failed. It is an observer: it changes nothing."""

    def on_observed(self, events: Sequence[Event], effects: Sequence[Effect], now: Moment) -> None:
        for event in events:
            match event:
                case Failed(effect, error, missing):
                    level = logging.INFO if missing else logging.WARNING  # objects may go at any time
                    _log.log(level, "%s of %s failed: %s", type(effect).__name__, effect.target, error)
                case Unknown(effect, error):
                    name = type(effect).__name__
                    _log.warning("whether %s of %s happened is not known: %s", name, effect.target, error)
                case EvictionsRead(evictions, since, lost):
                    workloads = counted(len({one.workload for one in evictions}), "workload")
                    text = f"{counted(len(evictions), 'eviction')} of {workloads} read from events"
                    text = f"eviction counts are known since {moment_text(since)}: {text}"
                    level = logging.WARNING if lost else logging.INFO
                    _log.log(level, "%s%s", text, f"; {lost}" if lost else "")
                case Synced():
                    _log.info("all that the cluster has is known; scheduling begins")

    def on_decided(self, decided: Decided | None, now: Moment, seconds: float) -> None:
        if decided is None:
            return
        made = decided.decision
        more = {
            "decision": made.id,
            "nodes": made.nodes,
            "victims": made.victims,
            "seconds": round(seconds, 6),
        }
        told = {name: value for name, value in more.items() if value}
        _decisions.info("%s: %s", made.demand, made.outcome.value, extra=told)

    def on_recorded(self, records: Sequence[PlanRecord]) -> None:
        """A plan is opened by the decision that is logged just before; stages are left to the journal."""
        for record in records:
            match record:
                case PlanEnded(decision=decision, demand=demand, reason=reason, stage=stage):
                    more = {"decision": decision, "stage": stage.value, "seconds": round(record.seconds, 6)}
                    _decisions.info("%s: plan ended: %s", demand, reason.value, extra=more)
                case VictimsJudged(decision=decision, demand=demand, wasted=wasted) if wasted:
                    text = f"{counted(len(wasted), 'pod')} evicted in vain"
                    names = [str(pod) for pod in wasted]
                    _decisions.info("%s: %s", demand, text, extra={"decision": decision, "wasted": names})
                case GrowthEnded(demand, end, _, seconds):
                    _decisions.info("%s: resize %s", demand, end.value, extra={"seconds": round(seconds, 6)})
                case PlanOpened() | StageReached() | VictimsJudged():
                    pass
