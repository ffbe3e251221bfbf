"""Decisions as older versions wrote them, in the form of today: of journals up to format 2, and of v1alpha1.

Only what was written can be read: an older version did not count the pods of spared units that it did not
list, and counted nodes that it chose among those that were refused.
"""

from collections.abc import Iterable
from typing import Any

from reprieve.model.json import Json
from reprieve.model.resources import milli, rounded
from reprieve.placement.rejection_codes import reason_of

V1ALPHA1 = "reprieve.dev/v1alpha1"

_OUTCOMES = {
    "Fits": "Placed",
    "Waits": "WaitsForVictims",
    "Improves": "ImprovesPlan",
}


# --- journals of formats 1 and 2 -----------------------------------------------------------------


def from_journal(line: Json) -> Json:
    """Names were spelled as in Python, and tables were lists of pairs."""
    found: Json = _camel(line)
    found["placements"] = [{"pod": pod, "node": node} for pod, node in found.pop("places", ())]
    if (growth := found.get("growth")) is not None:
        growth["resources"] = {name: {"has": has, "wants": wants} for name, has, wants in growth["resources"]}
    if (eviction := found.get("eviction")) is not None:
        eviction["protected"] = _protected(eviction)
    if (room := found.get("preemption")) is not None:
        room["victimNodes"] = dict(room.pop("givingWay", ()))
        room["podsSpared"] = _pods_spared(room["spared"], room["unitsSpared"])
        for plan in (room, *room["losers"]):
            plan["quality"] = _quality_of_pairs(plan.get("quality"))
    return found


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel_name(name): _camel(inner) for name, inner in value.items()}
    return [*map(_camel, value)] if isinstance(value, list) else value


def _camel_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _quality_of_pairs(quality: Json | None) -> Json | None:
    if quality is None:
        return None
    cost = dict(quality["cost"])
    usual = dict(quality.get("ceilingCost", ()))
    both = {name for name, value in usual.items() if value is not None and cost.get(name) is not None}
    saved = {name: usual[name] - cost[name] for name in usual if name in both}
    return {**quality, "cost": cost, "bound": dict(quality["bound"]), "saved": saved}


def _pods_spared(spared: Iterable[Json], units: int) -> int:
    """0 if it is not known: not all of them were listed."""
    pods = [one["pods"] for one in spared]
    return sum(pods) if len(pods) == units else 0


# --- documents of v1alpha1 -----------------------------------------------------------------------


def from_v1alpha1(old: Json) -> Json:
    demand, growth, eviction = old["demand"], old.get("growth"), old.get("eviction")
    return {
        **{name: old[name] for name in ("id", "at", "retryAt", "unproved") if name in old},
        "considered": old.get("considered", 0),
        "outcome": _OUTCOMES.get(old["outcome"], old["outcome"]),
        "demand": _target(demand),
        "priority": demand["priority"],
        "pods": demand["pods"],
        "placements": [{"pod": _pod(key), "node": node} for key, node in old.get("placements", {}).items()],
        "findings": [_finding(one) for one in old.get("refused", ())],
        "preemption": _preemption(old) if _has_room(old) else None,
        "miss": _miss(old.get("nearestMiss")),
        "eviction": _eviction(eviction) if eviction is not None else None,
        "growth": _growth(growth) if growth is not None else None,
    }


def _has_room(old: Json) -> bool:
    return bool(old.get("domain") or old.get("victims") or old.get("leavingPods"))


def _preemption(old: Json) -> Json:
    spared = [{**_priorities(one), "unit": _unit(one["unit"])} for one in old.get("spared", ())]
    return {
        "domain": old.get("domain") or "",
        "ceiling": old.get("ceiling"),
        "victims": [_victim(one) for one in old.get("victims", ())],
        "pods": old.get("victimPods", 0),
        "spared": spared,
        "unitsSpared": old.get("sparedUnits", 0),
        "podsSpared": _pods_spared(spared, old.get("sparedUnits", 0)),
        "exceeded": [
            {"budget": one["name"] or "", "allowed": one["disruptionsAllowed"], "going": one["evictions"]}
            for one in old.get("budgets", ())
        ],
        "broken": old.get("beyondBudgets", 0),
        "losers": [_loser(one) for one in old.get("nodes", ())],
        "plans": old.get("plans") or 1,
        "decidedBy": old.get("decidedBy"),
        "leaving": old.get("leavingPods", 0),
        "victimNodes": old.get("victimNodes", {}),
        "quality": _quality(old),
        "onward": old.get("cascade"),
    }


def _quality(old: Json) -> Json | None:
    if old.get("cost") is None:
        return None
    known = ("cost", "bound", "proved", "effort", "saved")
    return {name: old[name] for name in known if old.get(name) is not None}


def _victim(one: Json) -> Json:
    pod = {**_target(one), "kind": "Pod"}
    alone = one["unit"] == "Pod" and pod["name"]
    unit = f"Pod/{pod['namespace']}/{pod['name']}" if alone else _unit(one["unit"])
    budgets = [one["breaksBudget"]] if one.get("breaksBudget") is not None else []
    return {**_priorities(one), "pod": pod, "unit": unit, "budgets": budgets}


def _priorities(one: Json) -> Json:
    own = {"ownPriority": one["schedulingPriority"]} if "schedulingPriority" in one else {}
    return {**one, **own}


def _unit(unit: str) -> str:
    """A unit whose name is left out is its kind and a slash."""
    return unit if "/" in unit else f"{unit}/"


def _loser(one: Json) -> Json:
    plan = one["plan"]
    known = {name: plan[name] for name in ("units", "unitCount") if name in plan}
    cost = {"pods": plan["victims"], "highest": plan["highestPriority"], "broken": plan["beyondBudgets"]}
    return {"domain": one["name"], "lostBy": one["lostBy"], **cost, **known, "quality": _quality(plan)}


def _finding(one: Json) -> Json:
    reason = reason_of(one["excludedBy"]["code"], one["excludedBy"]["text"])
    written = {"code": reason.code.value, "detail": reason.detail}
    known = {"nodes": one["nodes"], "curable": one["evictionMayHelp"], "examples": one.get("examples", ())}
    return {"reason": written, **known}


def _eviction(old: Json) -> Json:
    return {**old, "atBest": _miss(old.get("nearestMiss")), "protected": _protected(old)}


def _protected(eviction: Json) -> list[Json]:
    """What tolerations and eviction limits protect, from when these were the only rules that told of it."""
    tolerated = (
        {
            "code": "Toleration",
            "by": [one["priorityClass"]],
            "pods": one["pods"],
            "which": f"of class {one['priorityClass']}",
            "first": one.get("first", one.get("firstAt")),
            "ends": f"a toleration of class {one['priorityClass']}",
        }
        for one in eviction.get("tolerating", ())
    )
    limited = (
        {
            "code": "EvictionLimit",
            "by": [one["workload"]],
            "pods": one["pods"],
            "which": "of a workload that was evicted too often",
            "first": one["until"],
            "ends": "the protection of a workload by evictionLimit",
        }
        for one in eviction.get("limited", ())
    )
    return [*tolerated, *limited]


def _miss(old: Json | None) -> Json | None:
    if old is None:
        return None
    resource = old["resource"] or ""
    return {
        **old,
        "pod": _pod(old["pod"]),
        "placed": old["placedBefore"],
        "node": old["node"] or "",
        "resource": resource,
        "short": _amount(resource, old["short"]),
        "kept": _amount(resource, old.get("kept")),
    }


def _growth(old: Json) -> Json:
    resources = {
        name: {key: _amount(name, one[key]) for key in ("has", "wants")}
        for name, one in old["resources"].items()
    }
    return {**old, "resources": resources}


def _amount(resource: str, text: str | None) -> int:
    """Amounts were rounded when the document was written."""
    thousandths = milli(text) if text is not None else None
    return rounded(resource, thousandths) if thousandths is not None else 0


def _target(old: Json) -> Json:
    name, namespace = old.get("name") or "", old.get("namespace") or ""
    return {"kind": old.get("kind", "Pod"), "namespace": namespace, "name": name, "uid": old.get("uid", "")}


def _pod(key: str) -> Json:
    """A key without a slash is a UID: the name was left out."""
    namespace, slash, name = key.partition("/")
    return _target({"namespace": namespace, "name": name} if slash else {"uid": key})
