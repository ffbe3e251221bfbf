"""Keys and defaults of earlier versions: which are still accepted, and what to write instead of the others.

`config defaults` printed every key, so saved files have them all. What was a default then means the default
of now, with a warning. A configuration that a snapshot or a journal recorded can no longer be edited: it is
translated.
"""

from collections.abc import Mapping
from typing import Any

from reprieve.config.decoding import ConfigError
from reprieve.config.keys.criteria import GONE, UPSTREAM_DISTURBANCE, CriterionName

_RANKING = [
    "BudgetsBroken",
    "HighestPriority",
    "GangsBroken",
    "DisruptionCost",
    "PrioritySum",
    "Pods",
    "DeletionCost",
    "LatestStart",
]
_DISTURBANCE = [
    "BudgetsBroken",
    "HighestPriority",
    "DisruptionCost",
    "PodsStopped",
    "WorkloadsEnded",
    "Cascade",
    "LostWork",
]
_SEARCH = "PriorityCeiling"
_LEAST = "LeastDisturbance"
FORMER_DEFAULTS: Mapping[str, object] = {"search": _SEARCH, "ranking": _RANKING}

# By key: the value that is accepted, and why it is ignored.
_ACCEPTED: Mapping[str, tuple[object, str]] = {
    "ranking": (_RANKING, "disturbance is now the one list of criteria, for every search"),
    "leastDisturbanceFor": ("Groups", "search: LeastDisturbance now serves every kind of demand"),
    "disturbance": (_DISTURBANCE, "this was the default, and another list is the default now"),
    "planningPatience": ("6s", "it was the default, and has no effect unless search is LeastDisturbance"),
}


def without_former(
    args: Mapping[str, Any], path: str, errors: list[ConfigError], warnings: list[ConfigError]
) -> dict[str, Any]:
    """The arguments without the keys that are gone, and without a list that was the default."""
    ignored = {key for key in _ACCEPTED if _is_ignored(key, args)}
    for key in sorted(ignored):
        message = f"ignored: {_ACCEPTED[key][1]}; remove the key"
        warnings.append(ConfigError(path=f"{path}.{key}", message=message))
    refused = {key for key in ("ranking", "leastDisturbanceFor") if key in args and key not in ignored}
    for key in sorted(refused):
        message = f"{_ACCEPTED[key][1]}: remove the key{_instead(key, args, ignored)}"
        errors.append(ConfigError(path=f"{path}.{key}", message=message))
    return {key: value for key, value in args.items() if key not in ignored | refused}


def of_recorded_run(args: Mapping[str, Any]) -> dict[str, Any]:
    """What the arguments mean today that an earlier version recorded with a snapshot or a journal."""
    if "ranking" not in args and "leastDisturbanceFor" not in args:
        return dict(args)
    is_upstream = args.get("policy") == "Upstream"
    search = {} if is_upstream else {"search": _SEARCH}
    read_list = "disturbance" if args.get("search") == _LEAST else "ranking"
    order = list(UPSTREAM_DISTURBANCE) if is_upstream else _order(args, read_list)
    former = {"ranking", "leastDisturbanceFor", "disturbance", *(k for k in args if _is_ignored(k, args))}
    kept = {key: value for key, value in args.items() if key not in former}
    return {**search, **kept, **({"disturbance": order} if order else {})}


def _is_ignored(key: str, args: Mapping[str, Any]) -> bool:
    """Whether it has the value that was its default."""
    if key not in _ACCEPTED or _plain(args.get(key)) != _ACCEPTED[key][0]:
        return False
    return key != "planningPatience" or args.get("search", _LEAST) != _LEAST


def _instead(key: str, args: Mapping[str, Any], ignored: set[str]) -> str:
    if key == "leastDisturbanceFor":
        return " and write search: LeastDisturbance"
    order = _order(args, key)
    has_list = "disturbance" in args and "disturbance" not in ignored
    return f" and write disturbance: [{', '.join(order)}]" if order and not has_list else ""


def _order(args: Mapping[str, Any], key: str) -> list[str]:
    """The criteria of a list that are still there; none if the default applies."""
    names = _plain(args.get(key))
    if not isinstance(names, list) or names == _ACCEPTED[key][0] or args.get("policy") == "Upstream":
        return []
    known = [name for name in names if isinstance(name, str) and name not in GONE]
    return list(dict.fromkeys(name for name in known if name in list(CriterionName)))


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
