"""What a scenario file says: the records it is read into. Unknown keys are mistakes."""

import re
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

Amount = int | float | str
Labels = dict[str, str]


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One line of a file."""


class NodeLine(_Line, frozen=True):
    """Also written shortly, as `cpu 4, zone a`."""

    cpu: Amount = 0
    memory: Amount = "64Gi"
    pods: int = 110
    zone: str = ""
    spec: dict[str, Any] = {}


class GroupLine(_Line, frozen=True):
    priority: int = 0
    disruption: Literal["single", "all"] = "single"
    min: int | None = None  # of a gang; without it, the policy is basic
    within: str = ""  # the topology that the group must not leave
    parent: str = ""
    composite: bool = False
    preemption: str = ""


class PodLine(_Line, frozen=True):
    on: str = ""
    namespace: str = "default"
    cpu: Amount = 0
    memory: Amount = 0
    priority: int | None = None  # that of its group, or 0
    group: str = ""
    labels: Labels = {}
    start: int | None = 0  # minutes; none for one that has not started yet
    port: int = 0
    avoids: Labels = {}  # pods with these labels, on the same node or
    within: str = "kubernetes.io/hostname"
    terminating: bool = False
    preemption: str = ""
    spec: dict[str, Any] = {}


class DemandLine(PodLine, frozen=True):
    """One pod like any other; with `gang`, so many of them, with `members`, these."""

    gang: int = 0
    members: list[PodLine] = []
    min: int | None = None


class BudgetLine(_Line, frozen=True):
    selects: Labels | None = None  # an empty selector selects everybody, none nobody
    lacks: str = ""  # instead: pods without this label
    allowed: int = 0
    disrupted: list[str] = []
    namespace: str = "default"


class PolicyLine(_Line, frozen=True):
    """The keys of the configuration, and whether groups are known at all."""

    search: Literal["PriorityCeiling", "Upstream"] = "PriorityCeiling"
    budgets: Literal["Joint", "Upstream"] = "Joint"
    respect_budgets: Literal["BestEffort", "Always"] = "BestEffort"
    gang_preemption: Literal["MinCount", "All"] = "MinCount"
    groups: bool = True


class Expected(_Line, frozen=True):
    """What comes out. Only what is written is compared, except that victims are always."""

    node: str | None = None
    nodes: list[str | None] | None = None
    victims: list[str] = []
    spared: list[str] | None = None
    broken: int | None = None
    ceiling: int | None = None
    loses: dict[str, str] = {}  # another domain, and the criterion that decided
    fits: bool = False
    nothing: str = ""  # why there is no plan


class Scenario(_Line, frozen=True):
    name: str
    why: str
    nodes: dict[str, str | NodeLine]
    demand: DemandLine
    expect: Expected
    pods: dict[str, PodLine] = {}
    groups: dict[str, GroupLine] = {}
    budgets: dict[str, BudgetLine] = {}
    policy: Literal["Upstream"] | PolicyLine = PolicyLine()


class _Loader(yaml.SafeLoader):
    """Without the truth that YAML sees in `on`."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"true|false"), list("tf"))


def read_scenario(path: Path) -> Scenario:
    return msgspec.convert(yaml.load(path.read_text(), _Loader), Scenario)


def node_line(line: str | NodeLine) -> NodeLine:
    if isinstance(line, NodeLine):
        return line
    pairs = (part.split(maxsplit=1) for part in line.split(","))
    return msgspec.convert(dict(pairs), NodeLine, strict=False)
