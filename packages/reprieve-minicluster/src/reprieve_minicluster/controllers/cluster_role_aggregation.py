"""ClusterRole aggregation: rules of roles with an aggregationRule come from the roles that it selects."""

from collections.abc import Iterator

from reprieve.model.json import Json
from reprieve.model.objects import LabelSelector, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import compile_selector
from reprieve_minicluster.controllers.api_writes import Update, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import ClusterRoleFacts, Thing
from reprieve_minicluster.store import Key

_ROLE = Ref(kind="ClusterRole", namespace="", name="")


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    """Any change of a role may affect every aggregated role; aggregated roles may be parts of others."""
    if isinstance(thing, ClusterRoleFacts):
        yield from (key_of(role) for role in cache.of(ClusterRoleFacts) if role.aggregation_rule)


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    role = cache.find(ClusterRoleFacts, key)
    if role is None or role.aggregation_rule is None:
        return
    wanted: list[Json] = []
    for part in sorted(cache.of(ClusterRoleFacts), key=lambda part: part.metadata.name):
        if part is not role and _selects(role.aggregation_rule.cluster_role_selectors, part):
            wanted += [rule for rule in part.rules or () if rule not in wanted]
    if wanted != (role.rules or []):
        yield Update(key, role.metadata.uid, lambda body: body.update(rules=wanted))


def _selects(selectors: tuple[LabelSelector, ...], part: ClusterRoleFacts) -> bool:
    compiled = (compile_selector(s, "clusterRoleSelectors", Problems(_ROLE)) for s in selectors)
    return any(selector.matches(part.metadata.labels) for selector in compiled)
