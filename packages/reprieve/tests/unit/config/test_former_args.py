"""Files of earlier versions: former defaults are accepted with a warning, the rest is refused with advice."""

from functools import partial

import pytest
from tests.unit.config import complaints, configuration, with_args

from reprieve.config import ReprieveArgs

PATH = "profiles[0].pluginConfig[0].args"
ONE_LIST = "disturbance is now the one list of criteria, for every search"
EVERY_DEMAND = "search: LeastDisturbance now serves every kind of demand"
PLACEMENTS = "two placements of a group are compared, and one if policy is Upstream"
ACCOUNTING = (
    "whether a resize fits is counted as the kubelet does, and as kube-scheduler does if policy is Upstream"
)
RANKING = [
    "BudgetsBroken",
    "HighestPriority",
    "GangsBroken",
    "DisruptionCost",
    "PrioritySum",
    "Pods",
    "DeletionCost",
    "LatestStart",
]
DISTURBANCE = [
    "BudgetsBroken",
    "HighestPriority",
    "DisruptionCost",
    "PodsStopped",
    "WorkloadsEnded",
    "Cascade",
    "LostWork",
]


def warnings(**args: object) -> list[str]:
    profile = {"pluginConfig": [{"name": "Reprieve", "args": args}]}
    return [str(warning) for warning in configuration(profiles=[profile]).warnings]


@pytest.mark.parametrize("policy", ["Reprieve", "Upstream"])
@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("ranking", RANKING, ONE_LIST),
        ("leastDisturbanceFor", "Groups", EVERY_DEMAND),
        ("disturbance", DISTURBANCE, "this was the default, and another list is the default now"),
    ],
)
def test_what_was_a_default_means_the_default_of_now(
    policy: str, key: str, value: object, reason: str
) -> None:
    assert warnings(policy=policy, **{key: value}) == [f"{PATH}.{key}: ignored: {reason}; remove the key"]
    assert with_args("Reprieve", policy=policy, **{key: value}) == with_args("Reprieve", policy=policy)


@pytest.mark.parametrize(
    ("key", "usual", "as_upstream", "reason"),
    [
        ("placementsTried", 2, 1, PLACEMENTS),
        ("resizeAccounting", "Kubelet", "Upstream", ACCOUNTING),
    ],
)
def test_a_key_that_only_the_policy_chooses(
    key: str, usual: object, as_upstream: object, reason: str
) -> None:
    for policy, value, other in (("Reprieve", usual, as_upstream), ("Upstream", as_upstream, usual)):
        assert warnings(policy=policy, **{key: value}) == [f"{PATH}.{key}: ignored: {reason}; remove the key"]
        assert with_args("Reprieve", policy=policy, **{key: value}) == with_args("Reprieve", policy=policy)
        refused = complaints(partial(with_args, "Reprieve", policy=policy, **{key: other}))
        assert refused == [f"{PATH}.{key}: {reason}: remove the key"]


def test_a_file_with_every_default_of_then_is_valid() -> None:
    saved = {"ranking": RANKING, "leastDisturbanceFor": "Groups", "disturbance": DISTURBANCE}
    *others, search = warnings(search="PriorityCeiling", **saved)
    kept = "PriorityCeiling was the default and is kept"
    assert search == f"{PATH}.search: {kept}; remove the key to have the default of now, LeastDisturbance"
    assert len(others) == len(saved)
    args = with_args("Reprieve", search="PriorityCeiling", **saved).args.reprieve
    assert (args.search, args.disturbance) == ("PriorityCeiling", ReprieveArgs().disturbance)


def test_a_search_that_is_chosen_today_is_no_reason_to_warn() -> None:
    assert warnings(search="PriorityCeiling") == []
    assert len(warnings(search="Upstream", ranking=RANKING)) == 1
    assert len(warnings(search="PriorityCeiling", policy="Upstream", ranking=RANKING)) == 1


def test_a_null_is_an_absent_key() -> None:
    assert warnings(ranking=None, leastDisturbanceFor=None, disturbance=None) == []


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (
            {"ranking": ["Pods", "GangsBroken", "LatestStart"]},
            f".ranking: {ONE_LIST}: remove the key and write disturbance: [Pods, LatestStart]",
        ),
        (
            {"ranking": ["Pods", "LatestStart"], "disturbance": DISTURBANCE},
            f".ranking: {ONE_LIST}: remove the key and write disturbance: [Pods, LatestStart]",
        ),
        ({"ranking": ["Pods"], "disturbance": ["Cascade"]}, f".ranking: {ONE_LIST}: remove the key"),
        ({"ranking": ["Pods"], "policy": "Upstream"}, f".ranking: {ONE_LIST}: remove the key"),
        ({"ranking": ["GangsBroken"]}, f".ranking: {ONE_LIST}: remove the key"),
        ({"ranking": "Pods"}, f".ranking: {ONE_LIST}: remove the key"),
        ({"ranking": [["Pods"], 3]}, f".ranking: {ONE_LIST}: remove the key"),
        (
            {"leastDisturbanceFor": "All"},
            f".leastDisturbanceFor: {EVERY_DEMAND}: remove the key and write search: LeastDisturbance",
        ),
        (
            {"disturbance": ["Pods", "GangsBroken"]},
            ".disturbance[1]: GangsBroken is no longer a criterion: remove it; "
            "PodsStopped counts the pods that a gang loses and those that run on for nothing",
        ),
        (
            {"disturbance": ["DeletionCost"]},
            ".disturbance[0]: DeletionCost is no longer a criterion: remove it; "
            "of members of one group, those that cost it less go first where all criteria are equal",
        ),
    ],
)
def test_anything_else_is_refused_with_what_to_write(args: dict[str, object], complaint: str) -> None:
    assert complaints(lambda: with_args("Reprieve", **args)) == [PATH + complaint]
