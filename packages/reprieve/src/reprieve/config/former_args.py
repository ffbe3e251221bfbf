"""Keys and defaults of earlier versions: which are still accepted, and what to write instead of the others.

`config defaults` printed every key, so saved files have them all. What was a default then means the default
of now, with a warning. A configuration that a snapshot or a journal recorded can no longer be edited: it is
translated.
"""

from collections.abc import Callable, Mapping
from typing import Any

from reprieve.cluster.api.values import items, part, text_in
from reprieve.config.decoding import ConfigError
from reprieve.model.json import Json
from reprieve.preemption.criteria import AS_UPSTREAM, CRITERIA

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
    "placementsTried": (2, "two placements of a group are compared, and one if policy is Upstream"),
    "resizeAccounting": (
        "Kubelet",
        "whether a resize fits is counted as the kubelet does, and as kube-scheduler does if policy is "
        "Upstream",
    ),
}
# The others were defaults of keys that still exist.
_GONE = ("ranking", "leastDisturbanceFor", "placementsTried", "resizeAccounting")
# What the preset set, where it differed from the default.
_ACCEPTED_AS_UPSTREAM: Mapping[str, object] = {"placementsTried": 1, "resizeAccounting": "Upstream"}

_CHEAPER_FIRST = "of members of one group, those that cost it less go first where all criteria are equal"
# Criteria of earlier versions, and what does their work.
FORMER_CRITERIA: Mapping[str, str] = {
    "GangsBroken": "PodsStopped counts the pods that a gang loses and those that run on for nothing",
    "DisruptionCost": _CHEAPER_FIRST,
    "DeletionCost": _CHEAPER_FIRST,
}


def without_former(
    args: Mapping[str, Any], path: str, errors: list[ConfigError], warnings: list[ConfigError]
) -> dict[str, Any]:
    """The arguments without the keys that are gone, and without a list that was the default."""
    ignored = {key for key in _ACCEPTED if _is_ignored(key, args)}
    for key in sorted(ignored):
        message = f"ignored: {_ACCEPTED[key][1]}; remove the key"
        warnings.append(ConfigError(path=f"{path}.{key}", message=message))
    if _is_search_of_then(args):
        message = (
            f"{_SEARCH} was the default and is kept; remove the key to have the default of now, {_LEAST}"
        )
        warnings.append(ConfigError(path=f"{path}.search", message=message))
    refused = {key for key in _GONE if key in args and key not in ignored}
    for key in sorted(refused):
        message = f"{_ACCEPTED[key][1]}: remove the key{_instead(key, args, ignored)}"
        errors.append(ConfigError(path=f"{path}.{key}", message=message))
    return {key: value for key, value in args.items() if key not in ignored | refused}


def _is_search_of_then(args: Mapping[str, Any]) -> bool:
    """Whether the file has the search that was the default, and keys that were printed with it.

    Alone it is a choice of today.
    """
    is_printed = "ranking" in args or "leastDisturbanceFor" in args
    return is_printed and args.get("search") == _SEARCH and args.get("policy") != "Upstream"


def recorded_args(args: Mapping[str, Any]) -> Json:
    """What the arguments mean today that an earlier version recorded with a snapshot or a journal."""
    kept = {key: value for key, value in args.items() if key not in _GONE}
    if "ranking" not in args and "leastDisturbanceFor" not in args:
        return kept
    is_upstream = args.get("policy") == "Upstream"
    search = {} if is_upstream else {"search": _SEARCH}
    read_list = "disturbance" if args.get("search") == _LEAST else "ranking"
    order = [one.name for one in AS_UPSTREAM] if is_upstream else _order(args, read_list)
    former = {"disturbance", *(key for key in args if _is_ignored(key, args))}
    kept = {key: value for key, value in kept.items() if key not in former}
    return {**search, **kept, **({"disturbance": order} if order else {})}


def recorded_document(document: object) -> object:
    """What a configuration means today that an earlier version recorded."""
    return with_changed_args(document, recorded_args)


def with_changed_args(document: object, changed: Callable[[Json], Json]) -> object:
    """The document with other arguments of Reprieve in every profile."""
    if not isinstance(document, dict):
        return document
    profiles = [*items(document, "profiles")] or [{}]
    return {**document, "profiles": [_changed_profile(profile, changed) for profile in profiles]}


def _changed_profile(profile: Json, changed: Callable[[Json], Json]) -> Json:
    plugins = [*items(profile, "pluginConfig")]
    own = next((p for p in plugins if text_in(p, "name") == "Reprieve"), {"name": "Reprieve"})
    others = [p for p in plugins if text_in(p, "name") != "Reprieve"]
    return {**profile, "pluginConfig": [*others, {**own, "args": changed(part(own, "args"))}]}


def _is_ignored(key: str, args: Mapping[str, Any]) -> bool:
    """Whether it has the value that was its default."""
    if key not in _ACCEPTED or key not in args:
        return False
    usual, _ = _ACCEPTED[key]
    if args.get("policy") == "Upstream":
        usual = _ACCEPTED_AS_UPSTREAM.get(key, usual)
    if _plain(args[key]) != usual:
        return False
    return key != "planningPatience" or args.get("search", _LEAST) != _LEAST


def _instead(key: str, args: Mapping[str, Any], ignored: set[str]) -> str:
    if key == "leastDisturbanceFor":
        return " and write search: LeastDisturbance"
    if key != "ranking":
        return ""
    order = _order(args, key)
    has_list = "disturbance" in args and "disturbance" not in ignored
    return f" and write disturbance: [{', '.join(order)}]" if order and not has_list else ""


def _order(args: Mapping[str, Any], key: str) -> list[str]:
    """The criteria of a list that are still there; none if the default applies."""
    names = _plain(args.get(key))
    if not isinstance(names, list) or names == _ACCEPTED[key][0] or args.get("policy") == "Upstream":
        return []
    return list(dict.fromkeys(name for name in names if isinstance(name, str) and name in CRITERIA))


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
