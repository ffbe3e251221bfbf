"""The scenes that are scripts: files that are applied, objects that are patched, and what is said to each."""

from typing import Any

from reprieve_minicluster.scenes import ScenePacing
from reprieve_minicluster.scenes.scripted import Apply, Patch, Script, play_script

# A gang preempts as a whole: for all pods that must start together, or not at all.
_GANG_BEFORE = Apply(
    "gang-before.yaml", ("Two nodes with 8 accelerators each run a sweep of low-priority pods. What runs:",)
)
_GANG_STEPS = (
    Apply(
        "gang-preemptor.yaml",
        (
            "A training job is created: three pods with 4 accelerators each, which must all start. No pod is",
            "evicted before there is a plan for all three; then only as many are as the plan needs.",
        ),
    ),
    Apply(
        "gang-too-large.yaml",
        (
            "Another gang is created that does not fit even with preemption, although its priority is the",
            "highest. No pod is evicted in vain, and the answer names the pod that does not fit.",
        ),
    ),
)

# A group with disruptionMode all is evicted as a whole, or not at all.
_GROUPS_BEFORE = Apply(
    "groups-before.yaml",
    (
        "A group of three pods runs on three nodes. Its disruptionMode is all: it is evicted as a whole, or",
        "not at all. Beside it run single pods. What runs:",
    ),
)
_GROUPS_STEPS = (
    Apply(
        "groups-small.yaml",
        (
            "A service is created that needs half a node. All running pods have the same priority. The",
            "victim is a single pod: preempting the group would evict three.",
        ),
    ),
    Apply(
        "groups-large.yaml",
        (
            "Another service needs a whole node, and every node has a pod of the group. One of its pods is",
            "in the way, and all three are evicted: the other two alone would hold their room for nothing.",
        ),
    ),
)

# A job with roles is a tree of groups: it preempts as one, and is evicted as one.
_TREES_BEFORE = Apply(
    "trees-before.yaml", ("Two nodes with 8 accelerators each run a sweep of low-priority pods. What runs:",)
)
_TREES_STEPS = (
    Apply(
        "trees-preemptor.yaml",
        (
            "A training job with two roles is created: a leader and two workers, a PodGroup each, in one",
            "CompositePodGroup that needs both. The leader alone would fit at once, and would wait for its",
            "workers in vain: there is one decision for all three pods, and one plan.",
        ),
    ),
    Apply(
        "trees-victim.yaml",
        (
            "A service is created that needs most of a node, and both nodes have pods of the job. The job's",
            "disruptionMode is all, so the leader and all workers are evicted, wherever they run: without",
            "one of the roles the rest would hold its accelerators for nothing.",
        ),
    ),
)

# A PodDisruptionBudget is respected: other pods are preempted, or none.
_BUDGETS_BEFORE = Apply(
    "budgets-before.yaml",
    (
        "A Deployment of four pods, whose PodDisruptionBudget allows one disruption; on another node, batch",
        "pods with a higher priority. What runs:",
    ),
)
_BUDGETS_CHOICE = Apply(
    "budgets-preemptor.yaml",
    (
        "A pod is created that fits on one node if two web pods are preempted, or on the other if one batch",
        "pod is. The web pods have the lower priority, but the budget allows one disruption and not two.",
    ),
)
_BUDGETS_AGAIN = Apply(
    "budgets-before.yaml",
    (
        "",
        "The same cluster again, with Reprieve configured with respectBudgets: Always. What runs:",
    ),
)
_BUDGETS_NO_CHOICE = Apply(
    "budgets-no-choice.yaml",
    (
        "A pod is created that fits only where the web pods run. By default, as in Kubernetes, preemption",
        "exceeds a budget if nothing else helps. With Always, it does not.",
    ),
)

# A preemption toleration holds, then it ends, and the waiting preemptor acts at that moment.
_TOLERATION_BEFORE = Apply(
    "toleration-before.yaml",
    (
        "Two priority classes tolerate preemption by priorities below 10000: one for the first ten minutes",
        "of a pod, one for as long as it runs. What runs, 45 s old:",
    ),
)
_TOLERATION_STEPS = (
    Apply(
        "toleration-high.yaml",
        (
            "A pod with priority 9000 is created. Its priority is higher than both, and yet it has to wait:",
            "its events say for what. When the ten minutes are over, it preempts at that very moment.",
        ),
        seconds=620.0,
    ),
    Apply(
        "toleration-critical.yaml",
        (
            "A pod with priority 10000 is created. That is the minimum, so it preempts at once the pod that",
            "tolerates all lower priorities.",
        ),
    ),
)

# Other pods are scheduled while victims terminate, and none takes the room that is reserved.
_HANDOVER_BEFORE = Apply(
    "handover-before.yaml",
    ("A batch job has all accelerators, and its pods take half a minute to terminate. What runs:",),
)
_HANDOVER_STEPS = (
    Apply(
        "handover-preemptor.yaml",
        (
            "An urgent pod is created that needs them all. Reprieve chooses the victims at once; the rest",
            "runs in the background: marking, evicting, waiting. The first three seconds:",
        ),
        seconds=3.0,
    ),
    Apply(
        "handover-others.yaml",
        (
            "While the victims terminate, other pods are created. Those that fit are placed at once. The",
            "room of the victims is reserved: a pod of lower priority does not get it.",
        ),
    ),
)
_METRICS = (
    'reprieve_handovers_begun_total{preemptor="pod"}',
    'reprieve_handovers_ready_total{preemptor="pod"}',
    "reprieve_wasted_evictions_total",
)

# An in-place resize preempts pods on its node, unless the node forbids it.
_RESIZE_BEFORE = Apply(
    "resize-before.yaml",
    ("A database, a web server and reports use all cpu of a node. What runs:",),
)
_DATABASE = ("shop", "db-0")


def _cpu(cpu: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "db", "resources": {"requests": {"cpu": cpu}}}]}}


_NODE_POLICY = {"spec": {"podPreemptionPolicy": {"disableResizePreemption": ["example.com/node-autoscaler"]}}}
_RESIZE_STEPS = (
    Patch(
        "Pod",
        _DATABASE,
        _cpu("5"),
        (
            "The database is resized in place from 3 to 5 cpu. Its node has no room for that, and the",
            "kubelet defers the resize. Reprieve chooses victims as for a new pod, but on this node only,",
            "and counts as the kubelet does: one report of 2 cpu is enough.",
        ),
        "resize",
    ),
    Patch(
        "Node",
        ("", "node-1"),
        _NODE_POLICY,
        ("A node autoscaler wants to enlarge the node instead: it disables preemption for resizes there.",),
        seconds=5.0,
    ),
    Patch(
        "Pod",
        _DATABASE,
        _cpu("6"),
        ("The database is resized again. No pod is evicted; its events name what disabled preemption.",),
        "resize",
    ),
)

SCRIPTS: dict[str, tuple[Script, ...]] = {
    "gang": (Script(_GANG_BEFORE, _GANG_STEPS),),
    "groups": (Script(_GROUPS_BEFORE, _GROUPS_STEPS),),
    "trees": (Script(_TREES_BEFORE, _TREES_STEPS),),
    "budgets": (
        Script(_BUDGETS_BEFORE, (_BUDGETS_CHOICE,)),
        Script(_BUDGETS_AGAIN, (_BUDGETS_NO_CHOICE,), {"respectBudgets": "Always"}),
    ),
    "toleration": (Script(_TOLERATION_BEFORE, _TOLERATION_STEPS),),
    "handover": (Script(_HANDOVER_BEFORE, _HANDOVER_STEPS, metrics=_METRICS),),
    "resize": (Script(_RESIZE_BEFORE, _RESIZE_STEPS),),
}


def play(name: str, pace: ScenePacing) -> None:
    for script in SCRIPTS[name]:
        play_script(pace, script)
