"""Is a text well formed? The forms that Kubernetes requires of names, keys and label values.

Each form is a function that returns nothing, or what is wrong in one sentence. This module must not know
which field needs which form.
"""

import re
from collections.abc import Callable

TextForm = Callable[[str], str | None]

LONGEST_LABEL = 63
LONGEST_SUBDOMAIN = 253
_LONGEST_PORT_NAME = 15

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(_LABEL)
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_PORT_NAME = re.compile(r"[a-z0-9]([a-z0-9]|-(?=[a-z0-9]))*")
_VARIABLE = re.compile(r"[ -<>-~]+")
_FEATURE = re.compile(r"[A-Z][A-Za-z0-9]*(/[A-Za-z0-9]+)*")


def dns_label(text: str) -> str | None:
    if len(text) > LONGEST_LABEL:
        return f"must be no longer than {LONGEST_LABEL} characters"
    if _DNS_LABEL.fullmatch(text) is None:
        return "must be a DNS label: lower case letters, digits and '-', with a letter or digit at both ends"
    return None


def dns_subdomain(text: str) -> str | None:
    if len(text) > LONGEST_SUBDOMAIN:
        return f"must be no longer than {LONGEST_SUBDOMAIN} characters"
    if _SUBDOMAIN.fullmatch(text) is None:
        return "must be a DNS subdomain: DNS labels of lower case letters, digits and '-', joined by '.'"
    return None


def path_segment(text: str) -> str | None:
    if text in (".", "..") or "/" in text or "%" in text:
        return "must be usable as a part of a path: neither '.' nor '..', and without '/' and '%'"
    return None


def label_key(text: str) -> str | None:
    """A name, optionally prefixed with the DNS subdomain of its owner."""
    prefix, slash, name = text.rpartition("/")
    if slash and dns_subdomain(prefix) is not None:
        return "must have a DNS subdomain before the '/'"
    if not name or len(name) > LONGEST_LABEL:
        return f"must have a name of 1 to {LONGEST_LABEL} characters"
    if _WORD.fullmatch(name) is None:
        return "must be of letters, digits, '-', '_' and '.', with a letter or digit at both ends"
    return None


def label_value(text: str) -> str | None:
    if len(text) > LONGEST_LABEL:
        return f"must be no longer than {LONGEST_LABEL} characters"
    if text and _WORD.fullmatch(text) is None:
        return "must be of letters, digits, '-', '_' and '.', with a letter or digit at both ends"
    return None


def annotation_key(text: str) -> str | None:
    return label_key(text.lower())


def data_key(text: str) -> str | None:
    if len(text) > LONGEST_SUBDOMAIN:
        return f"must be no longer than {LONGEST_SUBDOMAIN} characters"
    if text in (".", "..") or text.startswith("..") or _DATA_KEY.fullmatch(text) is None:
        return "must be of letters, digits, '-', '_' and '.', and must not begin with '..'"
    return None


def port_name(text: str) -> str | None:
    if len(text) > _LONGEST_PORT_NAME:
        return f"must be no longer than {_LONGEST_PORT_NAME} characters"
    if _PORT_NAME.fullmatch(text) is None or text.isdigit():
        return "must be of lower case letters, digits and single '-', with at least one letter"
    return None


def variable_name(text: str) -> str | None:
    return None if _VARIABLE.fullmatch(text) else "must be of printable ASCII characters other than '='"


def declared_feature(text: str) -> str | None:
    if len(text) > LONGEST_SUBDOMAIN or _FEATURE.fullmatch(text) is None:
        return "must be the name of a feature such as MyFeature or MyFeature/mySubFeature"
    return None


def before_suffix(form: TextForm) -> TextForm:
    """The form of a prefix to which a suffix will be added: it may end with a '-'."""

    def prefix(text: str) -> str | None:
        return form(f"{text[:-1]}a" if text.endswith("-") else text)

    return prefix
