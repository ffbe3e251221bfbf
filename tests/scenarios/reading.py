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
    rack: str = ""
    spec: dict[str, Any] = {}


class GroupLine(_Line, frozen=True):
    priority: int = 0
    disruption: Literal["single", "all"] = "single"
    min: int | None = None  # of a gang; without it, the policy is basic
    within: str = ""  # the topology that the group must not leave
    workload: str = ""  # that it was made for
    parent: str = ""
    composite: bool = False
    preemption: str = ""
    class_name: str = msgspec.field(name="class", default="")
    scheduled: float | None = None  # minutes, if it was scheduled once
    annotations: Labels = {}


class PodLine(_Line, frozen=True):
    on: str = ""
    namespace: str = "default"
    cpu: Amount = 0
    memory: Amount = 0
    priority: int | None = None  # that of its group, or of its class, or 0
    class_name: str = msgspec.field(name="class", default="")
    group: str = ""
    owner: str = ""  # its controller, as in ReplicaSet/web-1
    labels: Labels = {}
    start: int | None = 0  # minutes; none for one that has not started yet
    scheduled: float | Literal["unsaid", "denied"] = 0  # minutes; or what the cluster says of it instead
    port: int = 0
    avoids: Labels = {}  # pods with these labels, on the same node or
    within: str = "kubernetes.io/hostname"
    terminating: bool = False
    preemption: str = ""
    spec: dict[str, Any] = {}
    wants: dict[str, Amount] = {}  # a resize, which its node has put off
    annotations: Labels = {}
    conditions: Labels = {}  # those that hold, and their reasons
    status: dict[str, Any] = {}


class DemandLine(PodLine, frozen=True):
    """One pod like any other; with `gang`, so many of them, with `members`, these."""

    gang: int = 0
    members: list[PodLine] = []
    min: int | None = None


class BudgetLine(_Line, frozen=True):
    selects: Labels | None = None  # an empty selector selects every pod, a missing one none
    lacks: str = ""  # instead: pods without this label
    allowed: int = 0
    disrupted: list[str] = []
    namespace: str = "default"


class ClassLine(_Line, frozen=True):
    value: int = 0
    preemption: str = "PreemptLowerPriority"
    # Tolerations; what is written as text stands in the annotation as it is.
    minimum: int | str | None = None  # the priority that may preempt its pods at once
    seconds: int | str | None = None  # how long others may not
    metadata: dict[str, Any] = {}


class PolicyLine(_Line, frozen=True):
    """The keys of the configuration, and whether groups are known at all."""

    search: Literal["PriorityCeiling", "Upstream", "LeastDisturbance"] = "LeastDisturbance"
    placements_tried: int | None = None
    disturbance: list[str] | None = None
    budgets: Literal["Joint", "Upstream"] = "Joint"
    respect_budgets: Literal["BestEffort", "Always"] = "BestEffort"
    gang_preemption: Literal["MinCount", "All"] = "MinCount"
    resize_accounting: Literal["Kubelet", "Upstream"] = "Kubelet"
    preemption_priority_classes: dict[str, list[str]] = {}  # and the namespaces that may name each
    groups: bool = True
    tolerations: bool = True


class Expected(_Line, frozen=True):
    """What comes out. Only what is written is compared, except that victims are always."""

    node: str | None = None
    nodes: list[str | None] | None = None
    victims: list[str] = []
    spared: list[str] | None = None
    broken: int | None = None
    ceiling: int | None = None
    cost: dict[str, int] | None = None  # by each criterion of disturbance, in their order
    proved: bool | None = None
    loses: dict[str, str] = {}  # another domain, and the criterion that decided
    fits: bool = False
    nothing: str = ""  # why there is no plan
    retry: float | None = None  # minutes; when a pod may be preempted that may not now


class WorldLine(_Line, frozen=True, kw_only=True):
    nodes: dict[str, str | NodeLine] = {}
    pods: dict[str, PodLine] = {}
    groups: dict[str, GroupLine] = {}
    budgets: dict[str, BudgetLine] = {}
    classes: dict[str, ClassLine] = {}
    replica_sets: dict[str, str] = {}  # and the Deployments that they belong to


class Scenario(WorldLine, frozen=True, kw_only=True):
    """One demand at one moment."""

    name: str
    why: str
    demand: DemandLine = DemandLine()
    resize: str = ""  # instead: this pod asks for what it wants
    now: float = 0  # minutes
    expect: Expected
    later: dict[float, Expected] = {}  # what comes out at other moments
    policy: Literal["Upstream"] | PolicyLine = PolicyLine()


# --- over time -----------------------------------------------------------------------------------

Step = Literal["nominate", "mark", "evict", "bind"]


class Seen(_Line, frozen=True):
    """What the cluster shows. Only what is written is compared, except that evictions are always."""

    evicted: list[str] = []  # all pods evicted so far
    on: dict[str, str] | None = None  # pods, and the nodes they have
    nominated: dict[str, str] = {}  # pods, and the nodes they wait for; empty: none
    conditions: dict[str, dict[str, str]] = {}  # pods or groups, and their conditions; empty: none
    says: dict[str, str] = {}  # pods, and words that their last event has
    decided: int | None = None  # how often anything was decided so far


class StepLine(_Line, frozen=True):
    """Something happens, and then something can be seen. What stands first happens first."""

    restart: bool = False  # another scheduler takes over
    show: WorldLine = WorldLine()  # these are there from now on, or are like this
    lose: dict[str, list[str]] = {}  # these are gone, by kind: pods, nodes, …
    drain: bool = False  # terminating pods are gone
    after: float = 0  # seconds pass
    improve: bool = False  # the plans that are being improved are, however long ago that was wanted
    fail: dict[Step, list[str]] = {}  # what is wanted of these is refused
    do: list[Step] | Literal["", "all"] = ""  # what is wanted is carried out, of these kinds in turn
    expect: Seen | None = None


class Story(WorldLine, frozen=True, kw_only=True):
    """A cluster, and what happens in it from then on."""

    name: str
    why: str
    steps: list[StepLine]
    gates: str = ""
    args: dict[str, Any] = {}  # arguments of Reprieve


class _Loader(yaml.SafeLoader):
    """Without the truth that YAML sees in `on`."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"true|false"), list("tf"))


def read_scenario(path: Path) -> Scenario | Story:
    document = yaml.load(path.read_text(), _Loader)
    if "steps" in document:
        return msgspec.convert(document, Story)
    return msgspec.convert(document, Scenario)


def node_line(line: str | NodeLine) -> NodeLine:
    if isinstance(line, NodeLine):
        return line
    pairs = (part.split(maxsplit=1) for part in line.split(","))
    return msgspec.convert(dict(pairs), NodeLine, strict=False)
