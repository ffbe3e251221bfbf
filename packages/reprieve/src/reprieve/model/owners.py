"""Namespaces by label, and the selectors of services and controllers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reprieve.model.objects import (
    KubernetesObject,
    Namespace,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    ref_of,
)
from reprieve.model.resources import Problems
from reprieve.model.selectors import (
    EVERYTHING,
    NOTHING,
    Labels,
    Operator,
    Requirement,
    Selector,
    compile_selector,
)
from reprieve.model.shape import Shape

NAMESPACE_NAME = "kubernetes.io/metadata.name"  # a label that every namespace has
Owner = ReplicaSet | StatefulSet | ReplicationController
OWNER_KINDS = (Service, ReplicaSet, StatefulSet, ReplicationController)

_MOST_SELECTORS = 4096  # beyond that the cache starts over


@dataclass(frozen=True, slots=True, eq=False)
class Namespaces:
    """The labels of every namespace, including those that only their pods show."""

    labels: Mapping[str, Labels] = field(default_factory=dict)
    _selected: dict[Selector, frozenset[str]] = field(default_factory=dict)

    def selected(self, selector: Selector) -> frozenset[str]:
        names = self._selected.get(selector)
        if names is None:
            matching = (name for name, labels in self.labels.items() if selector.matches(labels))
            names = self._selected[selector] = frozenset(matching)
        return names


def namespaces_table(objects: Iterable[Namespace], lived_in: Iterable[str]) -> Namespaces:
    """``lived_in``: the namespaces of pods; their Namespace objects may arrive later."""
    labels: dict[str, Labels] = {name: {NAMESPACE_NAME: name} for name in lived_in}
    labels.update((n.metadata.name, n.metadata.labels) for n in objects)
    return Namespaces(labels)


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """Services and controllers: the default topology spread uses their selectors."""

    services: Mapping[str, Sequence[Service]] = field(default_factory=dict)  # by namespace
    controllers: Mapping[str, Owner] = field(default_factory=dict)  # by UID
    _selectors: dict[tuple[str, str, tuple[tuple[str, str], ...]], Selector] = field(default_factory=dict)

    def selector_for(self, shape: Shape) -> Selector:
        """The combined selector of a pod's services and controller; EVERYTHING if it has none."""
        key = (shape.owner_uid, shape.namespace, shape.labels)
        selector = self._selectors.get(key)
        if selector is None:
            if len(self._selectors) >= _MOST_SELECTORS:
                self._selectors.clear()
            selector = self._selectors[key] = self._selector(shape)
        return selector

    def _selector(self, shape: Shape) -> Selector:
        labels = dict(shape.labels)
        exact: dict[str, str] = {}
        for service in self.services.get(shape.namespace, ()):
            if service.spec.selector.items() <= labels.items():
                exact.update(service.spec.selector)
        more: tuple[Requirement, ...] = ()
        match self.controllers.get(shape.owner_uid):
            case ReplicationController() as controller:
                exact.update(controller.spec.selector)
            case ReplicaSet() | StatefulSet() as controller:
                more = _requirements_of(controller)
        return EVERYTHING.narrowed(
            [*(Requirement(key, Operator.IN, frozenset({value})) for key, value in exact.items()), *more]
        )


def _requirements_of(controller: ReplicaSet | StatefulSet) -> tuple[Requirement, ...]:
    """A controller whose selector is absent or malformed adds nothing."""
    selector = compile_selector(controller.spec.selector, "spec.selector", Problems(ref_of(controller)))
    return () if selector == NOTHING else selector.requirements


def owners_table(objects: Iterable[KubernetesObject]) -> Owners:
    services: dict[str, list[Service]] = {}
    controllers: dict[str, Owner] = {}
    for thing in objects:
        match thing:
            case Service():
                services.setdefault(thing.metadata.namespace, []).append(thing)
            # Without a UID it would match every pod without a controller, whose owner UID is empty.
            case ReplicaSet() | StatefulSet() | ReplicationController() if thing.metadata.uid:
                controllers[thing.metadata.uid] = thing
            case _:
                pass
    return Owners(services, controllers)
