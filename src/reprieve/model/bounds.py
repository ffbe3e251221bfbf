"""How much one pod may ask of the scheduler.

A user with the right to create pods may fill their lists up to the size limit of an object. Every decision
would pay for that, so a pod beyond a bound stays pending, with an event that names the field. What it asks
for is not known here.
"""

from collections.abc import Iterable
from itertools import chain
from typing import TypeVar

from reprieve.model.objects import LabelSelector, NodeSelector, NodeSelectorTerm
from reprieve.model.resources import Problems

T = TypeVar("T")

# Each is several times what real pods have. The reasons say what one entry costs in a decision.
MOST_CONTAINERS = 1_000  # each is added up, and its image looked up
MOST_RESOURCES = 100  # a resource that one pod names gets a column for all pods and nodes
MOST_PORTS = 1_000  # each is looked up among the ports held, and may reject nodes for a reason of its own
MOST_TOLERATIONS = 1_000  # each is compared with every distinct taint
MOST_TERMS = 100  # a term reads all pods or all nodes, and those of other pods are read, too
MOST_SPREAD_RULES = 100  # a rule counts the pods in all domains
MOST_REQUIREMENTS = 100  # in a selector or term; each reads all pods or all nodes
MOST_VALUES = 5_000  # of a requirement; each is looked up. As many as the nodes of a large cluster
MOST_NAMESPACES = 1_000  # of a term; each is looked up
MOST_GATES = 1_000  # compared with every change of the pod
MOST_VOLUMES = 1_000  # each is followed to its claim and volume
MOST_DISKS = 100  # volumes that name a disk; each is compared with those that share an identifier


def within(things: Iterable[T], most: int, what: str, path: str, problems: Problems) -> tuple[T, ...]:
    """The things up to the bound; more are reported."""
    found = tuple(things)
    is_bounded(len(found), most, what, path, problems)
    return found[:most]


def is_bounded(count: int, most: int, what: str, path: str, problems: Problems) -> bool:
    if count > most:
        problems.add(path, f"{count} {what}, at most {most} are supported by this scheduler")
    return count <= most


def selector_is_bounded(selector: LabelSelector | None, path: str, problems: Problems) -> bool:
    if selector is None:
        return True
    count = len(selector.match_labels) + len(selector.match_expressions)
    values = max((len(e.values) for e in selector.match_expressions), default=0)
    return is_bounded(count, MOST_REQUIREMENTS, "requirements", path, problems) and is_bounded(
        values, MOST_VALUES, "values in a requirement", f"{path}.matchExpressions", problems
    )


def bounded_node_term(term: NodeSelectorTerm, path: str, problems: Problems) -> NodeSelectorTerm:
    """The term itself, or beyond a bound an empty one, which selects no node."""
    count = len(term.match_expressions) + len(term.match_fields)
    values = max((len(e.values) for e in chain(term.match_expressions, term.match_fields)), default=0)
    bounded = is_bounded(count, MOST_REQUIREMENTS, "requirements", path, problems) and is_bounded(
        values, MOST_VALUES, "values in a requirement", f"{path}.matchExpressions", problems
    )
    return term if bounded else NodeSelectorTerm()


def bounded_node_selector(
    selector: NodeSelector | None, path: str, problems: Problems
) -> NodeSelector | None:
    if selector is None:
        return None
    path = f"{path}.nodeSelectorTerms"
    terms = within(selector.node_selector_terms, MOST_TERMS, "terms", path, problems)
    bounded = tuple(bounded_node_term(term, f"{path}[{i}]", problems) for i, term in enumerate(terms))
    return NodeSelector(node_selector_terms=bounded)
