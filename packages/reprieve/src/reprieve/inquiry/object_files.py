"""Which objects are in a file of YAML, JSON, JSON lines, a kubectl list, a snapshot, or their gzip?

Content never raises: what makes a file unusable is a problem. JSON is split into objects without parsing
them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from reprieve.cluster.api import snapshot_header
from reprieve.cluster.api.compression import LARGEST_FILE, DamagedFileError, uncompressed
from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.api.documents import LARGEST, Unparsed, documents
from reprieve.cluster.api.timestamps import moment
from reprieve.inquiry.cluster_objects import ApiObject
from reprieve.model.json import Json
from reprieve.model.objects import Record

_BOM = b"\xef\xbb\xbf"
# From this size on, a file that begins as JSON is not tried as YAML: that would take minutes, to no avail.
_LARGEST_FLOW_YAML = 1_000_000


@dataclass(frozen=True, slots=True)
class SnapshotHeader:
    """The first line of a snapshot. ``taken_at``: None if it does not say."""

    taken_at: float | None = None
    resource_version: str = ""
    configuration: Json | None = None
    pods_read_in: tuple[str, ...] | None = None  # as of ClusterObjects
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """``documents``: for each object, the number of its document, or of its line in JSON lines, from 1.

    With ``problems`` the file cannot be used. Each is a sentence that begins with the name of the file.
    """

    objects: tuple[ApiObject, ...] = ()
    documents: tuple[int, ...] = ()
    problems: tuple[str, ...] = ()
    header: SnapshotHeader | None = None
    decisions: tuple[Json, ...] = ()


def parse_objects(text: bytes, where: str, largest: int = LARGEST_FILE) -> ObjectFile:
    """``where``: the name of the file, for problems. ``largest``: in bytes, with every alias written out."""
    found = _Found(largest)
    try:
        _parse(uncompressed(text, largest).removeprefix(_BOM), found)
    except (_UnusableError, DamagedFileError) as error:
        found.problems.append(str(error))
    if not (found.problems or found.objects or found.decisions or found.header or found.has_lists):
        found.problems.append("expected Kubernetes objects, got none")
    return ObjectFile(
        objects=tuple(found.objects),
        documents=tuple(found.documents),
        problems=tuple(f"{where}: {problem}" for problem in found.problems),
        header=found.header,
        decisions=tuple(found.decisions),
    )


class _UnusableError(Exception):
    """No more of the file can be read: a sentence."""


class _Found:
    """What was found so far. It is filled by one call, and then frozen."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.bytes_left = largest
        self.objects: list[ApiObject] = []
        self.documents: list[int] = []
        self.problems: list[str] = []
        self.header: SnapshotHeader | None = None
        self.decisions: list[Json] = []
        self.has_lists = False  # which may be empty
        self.expected = 0  # objects and decisions, as the header says

    def add(self, thing: ApiObject, number: int) -> None:
        self.objects.append(thing)
        self.documents.append(number)


def _parse(text: bytes, found: _Found) -> None:
    stripped = text.strip()
    if not stripped.startswith(b"{"):
        return _parse_documents(text, found)
    lines = _numbered_lines(stripped)
    first = _head(next(lines)[1])
    second = next(lines, None)
    # A later line may be damaged: that is reported as such.
    if first is not None and (second is None or _head(second[1]) is not None or next(lines, None) is None):
        return _parse_lines(stripped, found)
    whole = _head(stripped)
    if whole is not None:
        return _add_json(stripped, whole, 1, found)
    return _parse_documents(text, found)


# --- JSON, object by object ----------------------------------------------------------------------


class _Head(Record, frozen=True):
    """The least of an object that says how to go on; fields of the wrong type are told later."""

    api_version: msgspec.Raw = msgspec.Raw()
    kind: msgspec.Raw = msgspec.Raw()
    items: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    objects: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_HEAD = msgspec.json.Decoder(_Head)
_RAWS = msgspec.json.Decoder(tuple[msgspec.Raw, ...] | None)
_ANY = msgspec.json.Decoder()
_WELL_FORMED = msgspec.json.Decoder(msgspec.Raw)
_TEXT = msgspec.json.Decoder(str)


def _head(text: bytes | msgspec.Raw) -> _Head | None:
    try:
        return _HEAD.decode(text)
    except UNDECODABLE:
        return None


def _numbered_lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, one at a time: there may be millions of others."""
    number = begin = 0
    while begin <= len(text):
        end = text.find(b"\n", begin)
        end = len(text) if end < 0 else end
        number += 1
        if line := text[begin:end].strip():
            yield number, line
        begin = end + 1


def _parse_lines(text: bytes, found: _Found) -> None:
    last = text.count(b"\n") + 1
    for number, line in _numbered_lines(text):
        head = _head(line)
        if head is None:
            if number == last:
                raise _UnusableError(f"the file is truncated: line {number}, its last, is incomplete")
            raise _UnusableError(f"line {number} is not a JSON object")
        _add_json(line, head, number, found)
    there = len(found.objects) + len(found.decisions)
    if there < found.expected:
        raise _UnusableError(
            f"the file is truncated: its header says {found.expected} objects and decisions, it has {there}"
        )


def _add_json(text: bytes, head: _Head, number: int, found: _Found) -> None:
    kind, version = _text(head.kind), _text(head.api_version)
    if kind == snapshot_header.KIND:
        _add_header(_value(text, number), found)
        for body in _raws(head.objects, "objects", number):
            _add_raw(body, "", "", number, found)
    elif snapshot_header.is_decision(kind, version):
        found.decisions.append(_value(text, number))
    elif kind.endswith("List") and head.items is not msgspec.UNSET:
        found.has_lists = True
        item_kind = kind.removesuffix("List")
        for body in _raws(head.items, "items", number):
            _add_raw(body, item_kind, version if item_kind else "", number, found)
    elif kind and version:
        found.add(ApiObject(kind, version, text), number)
    else:
        found.problems.append(_not_an_object(number, kind))


def _add_raw(body: msgspec.Raw, kind: str, version: str, number: int, found: _Found) -> None:
    """An item of a list such as PodList need not repeat its kind."""
    head = _head(body)
    if head is None:
        found.problems.append(_not_an_object(number, kind))
        return
    if kind and version and not _text(head.kind):
        found.add(ApiObject(kind, version, bytes(body)), number)
    else:
        _add_json(bytes(body), head, number, found)


def _raws(raw: msgspec.Raw | msgspec.UnsetType, field: str, number: int) -> tuple[msgspec.Raw, ...]:
    if raw is msgspec.UNSET:
        return ()
    try:
        return _RAWS.decode(raw) or ()
    except UNDECODABLE as error:
        raise _UnusableError(f"document {number}: {field}: expected a list") from error


def _value(text: bytes, number: int) -> Json:
    try:
        value: Json = _ANY.decode(text)
    except UNDECODABLE as error:
        raise _UnusableError(f"document {number}: {error}") from error
    return value


def _text(value: msgspec.Raw) -> str:
    """The text; empty if it is something else."""
    try:
        return _TEXT.decode(value)
    except UNDECODABLE:
        return ""


# --- YAML, and JSON that is spread over lines ----------------------------------------------------


def _parse_documents(text: bytes, found: _Found) -> None:
    try:
        decoded = text.decode()
    except UnicodeDecodeError as error:
        raise _UnusableError("expected YAML or JSON as text in UTF-8") from error
    if decoded.lstrip().startswith("{"):
        _check_json(text)
    for number, document in enumerate(documents(decoded, min(found.largest, LARGEST)), start=1):
        if isinstance(document, Unparsed):
            found.problems.append(f"document {number}: {document.expected}")
            continue
        _add_value(document, number, found)


def _check_json(text: bytes) -> None:
    """Several JSON objects after each other pass, and so does YAML that begins like JSON."""
    try:
        _WELL_FORMED.decode(text)
    except msgspec.DecodeError as error:
        if "truncated" in str(error):
            raise _UnusableError("the file is truncated: its JSON ends too early") from error
        if len(text) > _LARGEST_FLOW_YAML and "trailing" not in str(error):
            raise _UnusableError(f"expected JSON: {error}") from error
    except UNDECODABLE:
        pass


def _add_value(document: object, number: int, found: _Found) -> None:
    if not isinstance(document, dict):
        found.problems.append(_not_an_object(number, ""))
        return
    try:
        text = msgspec.json.encode(document)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        found.problems.append(f"document {number}: it cannot be written as JSON: {error}")
        return
    found.bytes_left -= len(text)
    if found.bytes_left < 0:
        raise _UnusableError(f"expected at most {found.largest} bytes, with every alias written out")
    head = _head(text)
    if head is None:
        found.problems.append(_not_an_object(number, ""))
        return
    _add_json(text, head, number, found)


# --- headers and sentences -----------------------------------------------------------------------


def _add_header(header: Json, found: _Found) -> None:
    if wrong := snapshot_header.version_refusal(header):
        raise _UnusableError(wrong)
    configuration, notes = header.get("configuration"), header.get("notes")
    namespaces = header.get("podsReadIn")
    found.header = SnapshotHeader(
        taken_at=_moment(header.get("takenAt")),
        resource_version=str(header.get("resourceVersion") or ""),
        configuration=configuration if isinstance(configuration, dict) else None,
        pods_read_in=tuple(map(str, namespaces)) if isinstance(namespaces, list) else None,
        notes=tuple(map(str, notes)) if isinstance(notes, list) else (),
    )
    found.expected = snapshot_header.lines_after(header)


def _moment(text: object) -> float | None:
    try:
        return moment(str(text))
    except ValueError:
        return None


def _not_an_object(number: int, kind: str) -> str:
    what = f", got a {kind} without an apiVersion" if kind else ""
    return f"document {number}: expected a Kubernetes object with an apiVersion and a kind{what}"
