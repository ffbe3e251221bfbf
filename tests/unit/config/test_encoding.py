"""A configuration that is written down means the same when it is read again."""

import pytest
import yaml

from reprieve.config import default_configuration, parse_configuration
from reprieve.config.encoding import as_document
from reprieve.config.keys.reprieve_args import DEFAULT_SEARCH

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}

DOCUMENTS = [
    HEAD,
    {**HEAD, "leaderElection": {"leaseDuration": "1h", "renewDeadline": "20m", "retryPeriod": "500ms"}},
    {**HEAD, "profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]},
    {
        **HEAD,
        "profiles": [
            {"pluginConfig": [{"name": "Reprieve", "args": {"disturbance": ["Pods", "LatestStart"]}}]}
        ],
    },
    {
        **HEAD,
        "profiles": [
            {
                "plugins": {
                    "score": {
                        "disabled": [{"name": "*"}],
                        "enabled": [{"name": "ImageLocality", "weight": 4}],
                    },
                    "multiPoint": {"disabled": [{"name": "GangScheduling"}]},
                },
                "pluginConfig": [
                    {"name": "Reprieve", "args": {"policy": "Upstream", "respectBudgets": "Always"}},
                    {
                        "name": "NodeAffinity",
                        "args": {
                            "addedAffinity": {
                                "requiredDuringSchedulingIgnoredDuringExecution": {
                                    "nodeSelectorTerms": [
                                        {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
                                    ]
                                }
                            }
                        },
                    },
                ],
            }
        ],
    },
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_there_and_back(document: dict[str, object]) -> None:
    configured = parse_configuration(document)
    text = yaml.safe_dump(as_document(configured))
    assert parse_configuration(yaml.safe_load(text)) == configured


def test_the_defaults_are_all_there() -> None:
    document = as_document(default_configuration())
    assert document["leaderElection"]["leaseDuration"] == "15s"
    (profile,) = document["profiles"]
    args = {entry["name"]: entry["args"] for entry in profile["pluginConfig"]}
    assert args["Reprieve"]["search"] == DEFAULT_SEARCH
    assert {"ranking", "leastDisturbanceFor"}.isdisjoint(args["Reprieve"])
    assert args["Reprieve"]["disturbance"][:2] == ["BudgetsBroken", "HighestPriority"]
    assert args["NodeResourcesFit"]["scoringStrategy"]["type"] == "LeastAllocated"
