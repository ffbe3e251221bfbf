"""The page on configuration and the code say the same: each key with its default, and no other."""

import re

import msgspec
import msgspec.inspect
import pytest
import yaml
from tests.unit.config import complaints

from reprieve.config import Gates, GlobalSettings, ReprieveArgs, parse_configuration
from reprieve.config.decoding import Seconds
from reprieve.config.gates import PREREQUISITES
from reprieve.config.parsing import ClientConnection, Document, LeaderElection
from reprieve.config.profiles import ARGS, ProfileDocument
from tests.architecture.source import ROOT, code_blocks

PAGE = ROOT / "docs" / "reference" / "configuration.md"

# Described by a section of their own, or not something to choose.
ELSEWHERE = {"leaderElection", "clientConnection"}


def section(heading: str) -> str:
    """What stands between a heading and the next one."""
    found = re.search(rf"^##+ {heading}\n(.*?)(?=^##|\Z)", PAGE.read_text(), re.M | re.S)
    assert found, f"{PAGE.name} has no section {heading}"
    return found.group(1)


def table(heading: str) -> dict[str, str]:
    """Key and default of each row of a section's table."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", section(heading), re.M)
    return {key: default.strip("`") for key, default in rows}


def written(default: object) -> str:
    """A default as the page writes it."""
    match default:
        case None:
            return "unset"
        case "":
            return '""'
        case Seconds():
            return f"{default:g}s"
    text = yaml.safe_dump(plain(default), default_flow_style=True, sort_keys=False, width=1000)
    return text.removesuffix("\n").removesuffix("\n...")


def plain(value: object) -> object:
    """A value as YAML has it, with the defaults inside it."""
    match value:
        case msgspec.Struct():
            inside = {f.encode_name: getattr(value, f.name) for f in msgspec.structs.fields(type(value))}
            return {key: plain(item) for key, item in inside.items() if item is not None}
        case tuple():
            return [plain(item) for item in value]
    return msgspec.to_builtins(value)


def defaults(record: type[msgspec.Struct]) -> dict[str, str]:
    return {
        f.encode_name: written(f.default_factory() if f.default is msgspec.NODEFAULT else f.default)
        for f in msgspec.structs.fields(record)
        if f.encode_name not in ELSEWHERE and not f.required
    }


@pytest.mark.parametrize(
    ("heading", "record"),
    [
        ("KubeSchedulerConfiguration", GlobalSettings),
        ("leaderElection", LeaderElection),
        ("clientConnection", ClientConnection),
        *((field.type.__name__, field.type) for field in ARGS.values()),
        ("Feature gates", Gates),
    ],
)
def test_keys_and_defaults(heading: str, record: type[msgspec.Struct]) -> None:
    assert table(heading) == defaults(record)


def test_the_keys_of_a_profile() -> None:
    keys = {**defaults(ProfileDocument), "plugins": "{}"}  # the sets of all points are empty
    assert table("profiles") == keys


def test_every_key_of_the_document_is_described_somewhere() -> None:
    page = PAGE.read_text()
    for field in msgspec.structs.fields(Document):
        assert field.encode_name in page


def choices(kind: object) -> tuple[str, ...]:
    """The names that a key chooses from: members of an enum, or a registry's."""
    match msgspec.inspect.type_info(kind):
        case msgspec.inspect.Metadata(extra=extra):
            return tuple((extra or {})["names"])
        case msgspec.inspect.EnumType(cls=members):
            return tuple(str(member.value) for member in members)
    return ()


def test_every_choice_is_described() -> None:
    text = section("ReprieveArgs")
    for field in msgspec.structs.fields(ReprieveArgs):
        for choice in choices(field.type):
            assert f"`{choice}`" in text or f": {choice}" in text, f"{field.encode_name}: {choice}"


def test_what_a_gate_needs() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `\w+` \| (.*?) ?\| ", section("Feature gates"), re.M)
    needs = {gate: tuple(re.findall(r"\w+", cell)) for gate, cell in rows}
    assert {gate: needed for gate, needed in needs.items() if needed} == PREREQUISITES


def test_the_example_is_valid_and_the_mistake_is_reported_as_shown() -> None:
    (example,) = code_blocks(PAGE, "yaml")
    document = yaml.safe_load(example)
    assert parse_configuration(document).profiles[0].args.reprieve.respect_budgets == "Always"
    document["profiles"][0]["pluginConfig"][0]["args"]["serach"] = "Upstream"
    (shown,) = code_blocks(PAGE, "")
    assert complaints(lambda: parse_configuration(document)) == [shown.strip()]
