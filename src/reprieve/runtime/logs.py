"""The log: its form (a JSON object per line, on stderr), its verbosity, and that no secret gets into it.

What is logged is decided by the modules that log.
"""

import logging
import re
import sys
from typing import TextIO

import msgspec

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
        return msgspec.json.encode(line, enc_hook=str).decode()


def without_secrets(text: str) -> str:
    return _SECRETS.sub("[hidden]", text)


def log_to(stream: TextIO | None = None, verbosity: int = 0) -> None:
    """From now on all log records go there, and nowhere else."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    everything = verbosity >= _EVERYTHING_FROM
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("reprieve").setLevel(logging.DEBUG if everything else logging.INFO)
    told = verbosity >= _DECISIONS_FROM
    logging.getLogger(DECISIONS).setLevel(logging.INFO if told else logging.WARNING)
