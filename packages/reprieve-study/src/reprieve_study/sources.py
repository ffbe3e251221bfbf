"""Which format does a trace have? That of the first importer which knows its beginning."""

import re
from collections.abc import Sequence

from reprieve.model.objects import Node
from reprieve_study.generator import SHARES, WHOLE_NUMBERS, GeneratorOptions, option_names
from reprieve_study.importers.foreign_formats import (
    NODE_COLUMNS,
    OPENB_COLUMNS,
    PHILLY_ARRIVALS,
    PHILLY_GPUS,
    ImportedRows,
    is_philly,
    is_swf,
    nodes_of_openb,
    read_openb,
    read_philly,
    read_swf,
)
from reprieve_study.text_lines import TraceError, csv_table, decoded_text, unpacked
from reprieve_study.trace import HIGHEST_PRIORITY, LOWEST_PRIORITY, PriorityMapping, Trace, read_trace

GENERATED = "generated"
_MOST_OF_ANY = 1e6


_INTEGER = re.compile(r"-?[0-9]{1,12}")
_EXPECTED_MAPPING = "expected COLUMN=VALUE:PRIORITY,…, as in qos=LS:1000,BE:0"


class MappingError(ValueError):
    """A mapping that cannot be used, as a sentence."""


def trace_in(name: str, content: bytes, mapping: PriorityMapping | None = None) -> Trace:
    """Raises TraceError."""
    text = decoded_text(name, content)
    if not text.strip():
        raise TraceError(f"{name}: expected a job on each line, got an empty file")
    if text.lstrip().startswith("{"):
        return read_trace(name, text, mapping)
    if is_swf(text):
        return read_swf(name, text, mapping)
    rows = ImportedRows(csv_table(name, text), mapping)
    if mapping is not None and "arrival" not in rows.columns and mapping.column not in rows.columns:
        raise TraceError(f"{name}: {mapping.expected(rows.table.columns)}")
    if rows.columns >= frozenset(OPENB_COLUMNS):
        return read_openb(name, rows)
    if "arrival" not in rows.columns and is_philly(rows.columns):
        return read_philly(name, rows)
    if "arrival" not in rows.columns:
        raise TraceError(f"{name}: {_no_trace(rows)}")
    return read_trace(name, text, mapping)


def _no_trace(rows: ImportedRows) -> str:
    """What a CSV file without arrivals lacks."""
    got = ", ".join(rows.table.columns)[:200]
    if rows.columns >= frozenset(NODE_COLUMNS):
        return f"expected jobs, got the nodes of openb, which --nodes reads: {got}"
    if rows.columns >= frozenset(OPENB_COLUMNS[:4]):
        missing = [column for column in OPENB_COLUMNS if column not in rows.columns]
        return f"expected pods of openb with the columns {', '.join(missing)}, got {got}"
    if any(column in rows.columns for column in PHILLY_ARRIVALS):
        return (
            f"expected arrivals with the columns duration and {PHILLY_GPUS[0]}, as Philly has them, got {got}"
        )
    return f"expected a header with the column arrival, got {got}"


def openb_nodes(name: str, content: bytes) -> tuple[Node, ...]:
    """None of them if it is no CSV file of openb's nodes. Raises TraceError."""
    content = unpacked(name, content)
    if not content.lstrip(b'\xef\xbb\xbf"').startswith(NODE_COLUMNS[0].encode()):
        return ()
    rows = ImportedRows(csv_table(name, decoded_text(name, content)))
    return nodes_of_openb(name, rows) if rows.columns >= frozenset(NODE_COLUMNS) else ()


def parse_mappings(texts: Sequence[str]) -> PriorityMapping | None:
    """``qos=LS:1000,BE:0``; several for the same column are one."""
    columns: list[str] = []
    priorities: dict[str, int] = {}
    for text in texts:
        column, sign, values = text.partition("=")
        if not (sign and column):
            raise MappingError(f"{_EXPECTED_MAPPING}, got {text!r}")
        columns.append(column)
        for part in values.split(","):
            value, priority = _mapped_value(part, text)
            if priorities.setdefault(value, priority) != priority:
                raise MappingError(
                    f"expected one priority for {value}, got {priorities[value]} and {priority}"
                )
    if len(set(columns)) > 1:
        raise MappingError(f"expected one column, got {' and '.join(dict.fromkeys(columns))}")
    return PriorityMapping(columns[0], priorities) if columns else None


def _mapped_value(part: str, text: str) -> tuple[str, int]:
    value, _, number = part.rpartition(":")
    if not value or not _INTEGER.fullmatch(number):
        raise MappingError(f"{_EXPECTED_MAPPING}, got {text!r}")
    if not LOWEST_PRIORITY <= int(number) <= HIGHEST_PRIORITY:
        raise MappingError(
            f"{value}: expected a priority from {LOWEST_PRIORITY} to {HIGHEST_PRIORITY}, got {number}"
        )
    return value, int(number)


def generator_options(text: str) -> GeneratorOptions:
    """``generated:days=2,load=0.9``; raises TraceError."""
    given: dict[str, float] = {}
    for part in text.partition(":")[2].split(","):
        if not part:
            continue
        name, _, value = part.partition("=")
        if name not in option_names():
            raise TraceError(f"{text}: expected some of {', '.join(option_names())}, got {name!r}")
        if name in given:
            raise TraceError(f"{text}: expected {name} once, got it twice")
        given[name] = _generator_number(text, name, value)
    whole = {name: int(value) if name in WHOLE_NUMBERS else value for name, value in given.items()}
    options = GeneratorOptions(**whole)  # type: ignore[arg-type]
    if sum(getattr(options, name) for name in SHARES) > 1 + 1e-9:
        got = ", ".join(f"{name}={getattr(options, name):g}" for name in SHARES)
        raise TraceError(f"{text}: expected shares of at most 1 together, got {got}")
    return options


def _generator_number(text: str, name: str, value: str) -> float:
    try:
        found = float(value)
    except ValueError:
        raise TraceError(f"{text}: {name}: expected a number, got {value!r}") from None
    if name in SHARES:
        if not 0 <= found <= 1:
            raise TraceError(f"{text}: {name}: expected a share from 0 to 1, got {value!r}")
    elif found >= _MOST_OF_ANY:
        raise TraceError(f"{text}: {name}: expected a number between 0 and {_MOST_OF_ANY:.0f}, got {value!r}")
    elif not found > 0:
        raise TraceError(f"{text}: {name}: expected a number more than 0, got {value!r}")
    elif name in WHOLE_NUMBERS and not found.is_integer():
        raise TraceError(f"{text}: {name}: expected a whole number, got {value!r}")
    return found
