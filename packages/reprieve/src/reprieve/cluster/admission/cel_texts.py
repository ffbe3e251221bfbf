"""Texts in CEL, what becomes a text or is read from one, and how values are shown."""

import re
from collections.abc import Callable, Mapping
from math import isfinite, isnan
from typing import Any

from reprieve.cluster.admission.cel_times import duration_text, timestamp_text
from reprieve.cluster.admission.cel_values import (
    LARGEST_INTEGER,
    NANOS,
    TYPES,
    CelDuration,
    CelTimestamp,
    CelType,
    CostBudget,
    PatternError,
    SenselessError,
    Spending,
    Uint,
    int64,
    pairs,
    steps_of,
    type_name,
    uint64,
)


def _in_range(position: int, text: str) -> int:
    if not 0 <= position <= len(text):
        raise SenselessError(f"index out of range: {position}")
    return position


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise SenselessError(f"index out of range: {start}")
    if start >= len(text):
        return len(text) if not part else -1
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise SenselessError(f"index out of range: {start}")
    if not part:
        return min(start, len(text))
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if _in_range(start, text) > _in_range(end, text):
        raise SenselessError(f"the start {start} is after the end {end}")
    return text[start:end]


def _replace(spending: Spending, text: str, old: str, new: str, most: int = -1) -> str:
    spending.budget.spend(steps_of(text))
    count = text.count(old)
    count = count if most < 0 else min(count, most)
    spending.budget.spend(steps_of(text) + count * steps_of(new))
    return text.replace(old, new, count)


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    """An empty separator splits into characters."""
    if most in (0, 1):
        return [text][:most]
    if separator:
        return text.split(separator, most - 1 if most > 0 else -1)
    if most < 0 or most >= len(text):
        return list(text)
    return [*text[: most - 1], text[most - 1 :]]


def _joined(spending: Spending, parts: list[Any], separator: str = "") -> str:
    for part in parts:
        if not isinstance(part, str):
            raise SenselessError("only texts can be joined")
        spending.budget.spend(steps_of(part) + steps_of(separator))
    return separator.join(parts)


_ASCII_WIDTH = 128
_LOWER = {code: chr(code).lower() for code in range(_ASCII_WIDTH)}
_UPPER = {code: chr(code).upper() for code in range(_ASCII_WIDTH)}
_QUOTED = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _quoted(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


def _matches(spending: Spending, text: str, pattern: str) -> bool:
    return bool(_find_all(spending, text, pattern, 1))


def _find(spending: Spending, text: str, pattern: str) -> str:
    return next(iter(_find_all(spending, text, pattern, 1)), "")


def _find_all(spending: Spending, text: str, pattern: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    try:
        return spending.patterns.find(pattern, text, most, spending.budget)
    except PatternError as error:
        raise SenselessError(f"{pattern} is no regular expression: {error}") from error


_CLAUSE = re.compile(r"%(?:%|(?:\.(\d+))?([a-zA-Z])?)", re.ASCII)
_MOST_DIGITS = 1000  # after the point
_SUPERSCRIPTS = str.maketrans("+-0123456789", "⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _formatted(spending: Spending, text: str, values: list[Any]) -> str:
    """``"%s is %d".format([…])``"""
    budget, left, pieces, position = spending.budget, iter(values), [], 0
    budget.spend(steps_of(text))
    for clause in _CLAUSE.finditer(text):
        pieces.append(text[position : clause.start()])
        position = clause.end()
        if clause[0] == "%%":
            pieces.append("%")
            continue
        try:
            value = next(left)
        except StopIteration:
            raise SenselessError("the format has more clauses than there are values") from None
        digits = int(clause[1][:9]) if clause[1] else 6
        if digits > _MOST_DIGITS:
            raise SenselessError(f"at most {_MOST_DIGITS} digits can be asked for")
        budget.spend(1 + digits)
        pieces.append(_clause_text(clause[2] or "", value, digits, budget))
        budget.spend(steps_of(pieces[-1]))
    return "".join([*pieces, text[position:]])


def _clause_text(kind: str, value: Any, digits: int, budget: CostBudget) -> str:
    match kind, value:
        case "s", _:
            return _displayed(value, budget)
        case "d" | "b" | "o" | "x" | "X", int() if not isinstance(value, bool):
            return format(value, kind)
        case "b", bool():
            return str(int(value))
        case "x" | "X", str() | bytes():
            found = (value.encode(errors="surrogatepass") if isinstance(value, str) else value).hex()
            return found.upper() if kind == "X" else found
        case "f" | "e", "NaN" | "Infinity" | "-Infinity":
            return _clause_text(kind, float(value), digits, budget)
        case "f" | "e", float() if not isfinite(value):
            return "NaN" if isnan(value) else "∞" if value > 0 else "-∞"
        case "f", float():
            return format(value, f",.{digits}f")
        case "e", float():
            mantissa, _, exponent = format(value, f".{digits}e").partition("e")
            power = exponent.removeprefix("+").translate(_SUPERSCRIPTS)
            return f"{mantissa}\u202f×\u202f10{power}"
    raise SenselessError(f"%{kind} cannot show a value of type {type_name(value)}")


def _displayed(value: Any, budget: CostBudget) -> str:
    """A value as ``%s`` shows it."""
    budget.spend(steps_of(value))
    match value:
        case list():
            return f"[{', '.join([_literal(one, budget) for one in value])}]"
        case dict():
            entries = sorted(f"{_literal(key, budget)}:{_literal(one, budget)}" for key, one in pairs(value))
            return f"{{{', '.join(entries)}}}"
    for kind, text in _SHOWN.items():
        if type(value) is kind:
            return text(value)
    raise SenselessError(f"a value of type {type_name(value)} cannot be shown")


def _literal(value: Any, budget: CostBudget) -> str:
    """A value within a list or a map."""
    text = _displayed(value, budget)
    match value:
        case str():
            return _quoted(text)
        case bytes():
            return f'b"{text}"'
        case CelDuration():
            return f'duration("{text}")'
        case CelTimestamp():
            return f'timestamp("{text}")'
        case float() if isfinite(value):
            return format(value, ".6f")
    return text


TEXTS: Mapping[str, Callable[..., Any]] = {
    "<string>.charAt(int)": lambda text, at: text[_in_range(at, text) : at + 1],
    "<string>.contains(string)": str.__contains__,
    "<string>.endsWith(string)": str.endswith,
    "<string>.indexOf(string)": _index_of,
    "<string>.indexOf(string, int)": _index_of,
    "<string>.lastIndexOf(string)": _last_index_of,
    "<string>.lastIndexOf(string, int)": _last_index_of,
    "<string>.lowerAscii()": lambda text: text.translate(_LOWER),
    "<string>.split(string)": _split,
    "<string>.split(string, int)": _split,
    "<string>.startsWith(string)": str.startswith,
    "<string>.substring(int)": _substring,
    "<string>.substring(int, int)": _substring,
    "<string>.trim()": str.strip,
    "<string>.upperAscii()": lambda text: text.translate(_UPPER),
    "strings.quote(string)": _quoted,
}
PAYING_TEXTS: Mapping[str, Callable[..., Any]] = {
    "<list>.join()": _joined,
    "<list>.join(string)": _joined,
    "<string>.find(string)": _find,
    "<string>.findAll(string)": _find_all,
    "<string>.findAll(string, int)": _find_all,
    "<string>.format(list)": _formatted,
    "<string>.matches(string)": _matches,
    "<string>.replace(string, string)": _replace,
    "<string>.replace(string, string, int)": _replace,
    "matches(string, string)": _matches,
}


# --- conversions -----------------------------------------------------------------------------------

_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


_DOUBLE = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[iI]nf(?:inity)?|[nN]a[nN])", re.ASCII)


def _bool_of(text: str) -> bool:
    if text not in _BOOLEANS:
        raise SenselessError("the text is no boolean")
    return _BOOLEANS[text]


def _int_of_text(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,400}", text):
        raise SenselessError("the text is no integer")
    return int64(int(text))


def _uint_of_text(text: str) -> Uint:
    if not re.fullmatch(r"[0-9]{1,400}", text):
        raise SenselessError("the text is no unsigned integer")
    return uint64(int(text))


def _truncated(value: float) -> int:
    if not isfinite(value):
        raise SenselessError("integer overflow")
    return int(value)


def _int_of_double(value: float) -> int:
    found = _truncated(value)
    if not -LARGEST_INTEGER - 1 < found < LARGEST_INTEGER:
        raise SenselessError("integer overflow")
    return found


def _double_of_text(text: str) -> float:
    if not _DOUBLE.fullmatch(text):
        raise SenselessError("the text is no number")
    return float(text)


def _double_text(value: float) -> str:
    """As Go's %g writes it."""
    if not isfinite(value):
        return "NaN" if isnan(value) else "+Inf" if value > 0 else "-Inf"
    digits = repr(value)
    mantissa, _, exponent = f"{value:e}".partition("e")
    if value == 0 or -5 < int(exponent) < 21:
        if "e" in digits:
            digits = format(value, "f") if value % 1 else str(int(value))
        return digits.removesuffix(".0")
    shortest = digits.partition("e")[0] if "e" in digits else ""
    mantissa = shortest or mantissa.rstrip("0").rstrip(".")
    return f"{mantissa.removesuffix('.0')}e{exponent}"


def _text_of_bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise SenselessError("the bytes are no UTF-8") from error


def _bytes_of(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _type_of(value: Any) -> CelType:
    return CelType(type_name(value))


CONVERSIONS: Mapping[str, Callable[..., Any]] = {
    "bool(bool)": bool,
    "bool(string)": _bool_of,
    "bytes(bytes)": bytes,
    "bytes(string)": _bytes_of,
    "double(double)": float,
    "double(int)": float,
    "double(string)": _double_of_text,
    "double(uint)": float,
    "dyn(dyn)": lambda value: value,
    "int(double)": _int_of_double,
    "int(duration)": lambda value: value.nanos,
    "int(int)": int,
    "int(string)": _int_of_text,
    "int(timestamp)": lambda value: value.nanos // NANOS,
    "int(uint)": lambda value: int64(int(value)),
    "string(bool)": lambda value: str(value).lower(),
    "string(bytes)": _text_of_bytes,
    "string(cidr)": str,
    "string(double)": _double_text,
    "string(duration)": duration_text,
    "string(int)": str,
    "string(ip)": str,
    "string(string)": str,
    "string(timestamp)": timestamp_text,
    "string(uint)": str,
    "type(dyn)": _type_of,
    "uint(double)": lambda value: uint64(_truncated(value)),
    "uint(int)": uint64,
    "uint(string)": _uint_of_text,
    "uint(uint)": Uint,
}

_SHOWN: Mapping[type, Callable[[Any], str]] = {
    CelType: lambda value: value.name,
    type(None): lambda _: "null",
    **{
        TYPES[name][0]: CONVERSIONS[f"string({name})"]
        for name in ("bool", "bytes", "double", "int", "string", "uint")
    },
    CelDuration: duration_text,
    CelTimestamp: timestamp_text,
}
