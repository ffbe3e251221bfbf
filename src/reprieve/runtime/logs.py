"""The log: its form (JSON, or text for people), its verbosity, and what never gets into it.

That is secrets, and control characters in text that users chose. The modules that log decide what is logged.
"""

import json
import logging
import re
import sys
import time
from typing import TextIO

from reprieve.model.formatting import visible

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
    """From now on warnings and errors go to stderr as text, perhaps decisions, and nothing else."""
    handler = logging.StreamHandler()
    handler.setFormatter(TextLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(DECISIONS).setLevel(logging.INFO if decisions else logging.WARNING)


def log_to(stream: TextIO | None = None, verbosity: int = 0) -> None:
    """From now on all log records go there, and nowhere else."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    everything = verbosity >= _EVERYTHING_FROM
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("reprieve").setLevel(logging.DEBUG if everything else logging.INFO)
    told = verbosity >= _DECISIONS_FROM
    logging.getLogger(DECISIONS).setLevel(logging.INFO if told else logging.WARNING)
