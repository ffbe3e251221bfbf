"""Which cases are there, and which of them does a pattern mean?

A case names its workload and the workload's arguments. Nothing of the product is imported here: a case's
process must import only what the case needs, or its memory would say nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase

from benchmarks.names import UsageError, nearest
from benchmarks.worlds.shapes import shapes

Arguments = Mapping[str, object]


class Compared(Enum):
    """Which figure of a run tells two revisions apart."""

    # Of calls that are alike. Other work on the machine only ever adds time, and on a busy machine to more
    # than half of the calls. With one revision on both sides, the interval was narrower than with the median.
    QUARTILE_CPU = "lower quartile of processor time"
    MEAN_CPU = "mean processor time"  # of calls that are not: what they take together counts
    MEDIAN_WALL = "median time"  # where waiting is what is measured


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    about: str
    workload: str  # a module of benchmarks.workloads
    arguments: Arguments = field(default_factory=dict)
    compared: Compared = Compared.QUARTILE_CPU
    beside: bool = False  # the product runs as a program of its own, and the workload beside it
    made_world: bool = False  # the cluster comes from make_world.py


_HARDER = {
    "priorities": "every pod has one of 900 priorities",
    "groups": "the running pods are in groups that are evicted whole",
    "budgets": "a tenth of the pods is under budgets that allow nothing",
    "all-budgets": "every pod is under a budget that allows nothing",
    "spread": "the preemptors spread over zones among themselves",
    "tolerations": "half of the pods tolerate every preemption",
}
_HARDER_FOR_A_POD = {
    **_HARDER,
    "anti-affinity": "the preemptor refuses every other pod on its node",
    "spread-all": "the preemptor spreads over zones among all pods",
}
_SIZES = (100, 1000, 5000)
_AT_5000 = "at 5000 nodes and 50000 pods"


def _preempting() -> Iterator[Case]:
    """One decision in a full cluster. P: a pod; G: a gang; and how many nodes there are."""
    for name, nodes, pods, variants in (
        ("P500", 500, 1, {}),
        ("G500", 500, 50, {}),
        ("P5000", 5000, 1, _HARDER_FOR_A_POD),
        ("G5000", 5000, 100, _HARDER),
    ):
        about = f"{'a pod' if pods == 1 else f'a gang of {pods}'} preempts on {nodes} full nodes"
        size: Arguments = {"nodes": nodes, "pods": pods}
        yield Case(name, about, "preempting", size)
        yield Case(
            f"{name}-upstream",
            f"as {name}, with policy: Upstream",
            "preempting",
            {**size, "policy": "Upstream"},
        )
        for variant, how in variants.items():
            yield Case(f"{name}-{variant}", f"as {name}; {how}", "preempting", {**size, "variant": variant})
    for variant, how in (
        ("spread-all", "it spreads over zones among all pods"),
        ("anti-affinity", "it refuses every other pod on its nodes"),
    ):
        small: Arguments = {"nodes": 1000, "pods": 20, "variant": variant}
        about = f"a gang of 20 preempts on 1000 full nodes; {how}"
        yield Case(f"G1000-{variant}", about, "preempting", small)


def _large_gang() -> Iterator[Case]:
    size: Arguments = {"nodes": 2000, "pods": 1000}
    yield Case("G2000-1000", "a gang of 1000 preempts on 2000 full nodes", "preempting", size)


def _resizes() -> Iterator[Case]:
    for nodes, variant, how in (
        (500, "", ""),
        (5000, "", ""),
        (5000, "groups", "; the running pods are in groups that are evicted whole"),
    ):
        name = f"R{nodes}-{variant}".removesuffix("-")
        arguments: Arguments = {"nodes": nodes, "variant": variant}
        yield Case(name, f"a pod grows and preempts on one of {nodes} full nodes{how}", "resizing", arguments)


def _trees() -> Iterator[Case]:
    for nodes in (1000, 5000):
        for name, is_full, how in (("fits", False, "finds room"), ("preempts", True, "preempts")):
            about = f"a tree of 4 x 4 x 8 pods, its middle groups each within a zone, {how} on {nodes} nodes"
            size = {"nodes": nodes, "middles": 4, "leaves": 4, "pods": 8, "is_full": is_full}
            yield Case(f"T{nodes}-{name}", about, "trees", size)


def _crowded() -> Iterator[Case]:
    for name, pods, millicpu, expected, about in (
        ("H1000-pod", 1, 16000, "Nominate", "a pod of 16 cpu preempts"),
        ("H1000-gang", 32, 8000, "Nominate", "a gang of 32 pods of 8 cpu preempts"),
        ("H1000-gang-fits", 32, 4000, "Bind", "a gang of 32 pods of 4 cpu finds room"),
        ("H1000-gang-hopeless", 64, 20000, "SetCondition", "a gang of 64 pods of 20 cpu is refused"),
        ("H5000-pod", 1, 8000, "Nominate", "a pod of 8 cpu and 4 GPUs preempts"),
        ("H5000-gang", 32, 8000, "Nominate", "a gang of 32 pods of 8 cpu and 4 GPUs preempts"),
        ("H5000-gang-hopeless", 64, 40000, "SetCondition", "a gang of 64 pods of 40 cpu is refused"),
    ):
        world = name.partition("-")[0]
        arguments = {"world": world, "pods": pods, "millicpu": millicpu, "expected": expected}
        yield Case(name, f"{about} in the crowded world {world}", "crowded", arguments, made_world=True)


def _improving() -> Iterator[Case]:
    for world, gpus in (("H1000", ""), ("H5000", " and 4 GPUs")):
        about = (
            f"a gang of 32 pods of 8 cpu{gpus} preempts in the crowded world {world}: "
            "the decision about the solver's answer"
        )
        arguments = {"world": world, "pods": 32, "millicpu": 8000}
        yield Case(f"{world}-gang-answered", about, "improving", arguments, made_world=True)


def _preemptors() -> Iterator[Case]:
    for count in (100, 500, 2000):
        about = f"one of {count} preemptors that have open plans at the same time, on 5000 full nodes"
        arguments = {"nodes": 5000, "preemptors": count}
        yield Case(f"preemptors-{count}", about, "preemptors", arguments, Compared.MEAN_CPU)


def _waiting() -> Iterator[Case]:
    about = "one of 2000 jobs that wait for room on 40 nodes with 4 at a time, until all have run"
    yield Case("jobs-waiting", about, "jobs_waiting", {"nodes": 40, "jobs": 2000}, Compared.MEAN_CPU)


def _placing() -> Iterator[Case]:
    for shape in shapes():
        about = f"a pod asks 5000 half-full nodes: {shape.name.replace('-', ' ')}"
        yield Case(f"place-{shape.name}", about, "placing", {"nodes": 5000, "shape": shape.name})


def _scheduling() -> Iterator[Case]:
    for nodes in _SIZES:
        for name, workload, unit in (
            ("schedule", "scheduling", "one of 2000 pods that find room, the scheduler alone"),
            ("loop", "looping", "one of 2000 pods that find room, with the loop and a mini cluster"),
            ("observe", "observing", "an event, from JSON: new pods, and reports of nodes and pods"),
            ("sync", "syncing", "an object that is seen for the first time, from JSON; memory when all are"),
        ):
            about = f"{unit}; {nodes} half-full nodes"
            yield Case(f"{name}-{nodes}", about, workload, {"nodes": nodes}, Compared.MEAN_CPU)
    equal: Arguments = {"nodes": 5000, "templates": 1}
    about = "as schedule-5000, with pods of one template"
    yield Case("schedule-5000-equal", about, "scheduling", equal, Compared.MEAN_CPU)
    for around, what in (("metrics", "metrics"), ("journal", "metrics and a journal")):
        arguments = {"nodes": 5000, "around": around}
        name = f"schedule-5000-{around}"
        yield Case(name, f"as schedule-5000, with {what}", "scheduling", arguments, Compared.MEAN_CPU)
    for readers, stalled, what in ((0, 0, "no reader"), (20, 5, "20 readers, of which 5 are stalled")):
        arguments = {"nodes": 5000, "readers": readers, "stalled": stalled}
        about = f"as schedule-5000, with a page that has {what}"
        yield Case(f"schedule-5000-readers-{readers}", about, "page_readers", arguments, Compared.MEDIAN_WALL)
    yield Case("decode", "a pod is decoded from JSON", "decoding")


def _meanwhile() -> Iterator[Case]:
    for name, preempt, decide_meanwhile, beside in (
        ("alone", False, True, "while no pod preempts"),
        ("async", True, True, "while others preempt"),
        ("sync", True, False, "while others preempt, with SchedulerAsyncPreemption off"),
    ):
        about = f"until a small pod is bound, where API calls take 200 ms, {beside}"
        arguments = {"preempt": preempt, "decide_meanwhile": decide_meanwhile}
        yield Case(f"meanwhile-{name}", about, "meanwhile", arguments, Compared.MEDIAN_WALL)


def _mini_cluster() -> Iterator[Case]:
    for watchers in (1, 10, 100):
        about = f"the mini cluster writes a pod over HTTP; watchers: {watchers}"
        yield Case(f"serve-{watchers}", about, "serving", {"watchers": watchers}, Compared.MEAN_CPU)
    size: Arguments = {"nodes": 5000, "pods": 50_000}
    for what, pods in (("all", "all pods"), ("page", "500 pods"), ("node", "the pods of one node")):
        about = f"the mini cluster lists {pods}; its memory, {_AT_5000}"
        yield Case(f"list-{what}", about, "listing", {**size, "what": what})
    yield Case("write", "the mini cluster writes a pod in memory", "storing")
    yield Case("write-disk", "the mini cluster writes a pod on disk as well", "storing", {"on_disk": True})
    yield Case("restore", f"the mini cluster starts from disk, {_AT_5000}", "restoring", size)


def _daemon() -> Iterator[Case]:
    """`reprieve scheduler` as a program."""
    yield Case("daemon-import", "the daemon is loaded; memory at its highest", "loading", beside=True)
    for pods in (20_000, 50_000):
        about = (
            f"the daemon, until it binds its first pod, and its memory then, at 5000 nodes and {pods} pods"
        )
        arguments = {"nodes": 5000, "pods": pods}
        name = "daemon-start" if pods == 50_000 else f"daemon-start-{pods}"
        yield Case(name, about, "starting", arguments, beside=True)
    for what, unit in (
        ("idle", "a second in which nothing happens"),
        ("heartbeats-5min", "a second while every node reports every 5 minutes"),
        ("heartbeats-10s", "a second while every node reports every 10 seconds"),
        ("load", "one of 1500 pods that find room"),
        ("load-journal", "one of 1500 pods that find room, with a journal"),
        ("preemption", "one of 150 pods that preempt a pod each"),
        ("victims", "one of 300 pods that are preempted, ten by each preemptor"),
        ("events", "a watch event, of 20000 pods of another scheduler that come and go"),
    ):
        about = f"the daemon: {unit}, {_AT_5000}"
        yield Case(f"daemon-{what}", about, "daemon", {"what": what}, Compared.MEAN_CPU, beside=True)
    about = (
        f"the daemon: the longest step of its event loop while pods come and go and nodes report, {_AT_5000}"
    )
    yield Case("daemon-pauses", about, "pausing", beside=True)
    for what, unit in (
        ("load", "one of 1500 pods that find room"),
        ("preemption", "one of 150 pods that preempt a pod each"),
        ("events", "a watch event, of 20000 pods of another scheduler that come and go"),
    ):
        small: Arguments = {"what": what, "nodes": 500, "pods": 5000}
        about = f"the daemon: {unit}, at 500 nodes and 5000 pods"
        yield Case(f"daemon-{what}-500", about, "daemon", small, Compared.MEAN_CPU, beside=True)


def _first_deletes() -> Iterator[Case]:
    """`reprieve scheduler` and its solver as programs, from the arrival of demands to the first delete."""
    for world, where, millicpu in (
        ("H1000", "in the crowded world H1000", 8000),
        ("G5000", "on 5000 full nodes that are all alike", 3000),
    ):
        for name, demands, pods, what in (
            ("gang", 1, 32, "one gang of 32 pods"),
            ("20-gangs", 20, 8, "each of 20 gangs of 8 pods that arrive at once"),
            ("200-pods", 200, 1, "each of 200 pods that arrive at once"),
        ):
            for suffix, search in (("", ""), ("-ceiling", "PriorityCeiling")):
                about = (
                    f"until the first pod is deleted for {what}, {where}; {search or 'the default search'}"
                )
                yield Case(
                    f"first-delete-{world}-{name}{suffix}",
                    about,
                    "first_deletes",
                    {
                        "world": world,
                        "demands": demands,
                        "pods": pods,
                        "millicpu": millicpu,
                        "search": search,
                    },
                    Compared.MEDIAN_WALL,
                    beside=True,
                    made_world=True,
                )


def _whatif() -> Iterator[Case]:
    """`reprieve whatif` as a program, from its start to its answer."""
    world: Arguments = {"world": "H5000", "pods": 32, "millicpu": 8000}
    for name, live, where in (
        ("whatif-snapshot", False, "a snapshot in JSON lines; at most 5 s"),
        ("whatif-live", True, "a live mini cluster; at most 15 s"),
    ):
        about = f"`reprieve whatif` for a gang of 32, {_AT_5000} (H5000), from {where}"
        arguments = {**world, "live": live}
        yield Case(name, about, "asking", arguments, Compared.MEDIAN_WALL, beside=True, made_world=True)


def _study() -> Iterator[Case]:
    about = "a study: a whole week of 1600 pods on 1213 nodes, as in openb; at most 2 s"
    week: Arguments = {"nodes": 1213, "jobs": 1600, "as_one": True}
    yield Case("study-openb", about, "simulating", week, Compared.MEAN_CPU)
    for jobs in (1000, 10_000, 100_000):
        about = f"a study: one of {jobs} jobs in a week on 200 nodes; at most 0.6 ms"
        yield Case(f"study-jobs-{jobs}", about, "simulating", {"nodes": 200, "jobs": jobs}, Compared.MEAN_CPU)
    for nodes in _SIZES:
        about = f"a study: one of 2000 jobs in a week on {nodes} nodes"
        yield Case(
            f"study-nodes-{nodes}", about, "simulating", {"nodes": nodes, "jobs": 2000}, Compared.MEAN_CPU
        )


def _page() -> Iterator[Case]:
    """The page in a real browser; it needs a Chromium, which `make test` installs."""
    size: Arguments = {"nodes": 5000, "pods": 50_000}
    for name, what in (
        ("first", "from the answer of its server to the first frame; at most 300 ms"),
        ("frames", "a frame while 500 pods change ten times a second; at most 20 ms at p95"),
    ):
        arguments = {**size, "what": name}
        about = f"the page: {what}, {_AT_5000}"
        yield Case(f"page-{name}", about, "drawing", arguments, Compared.MEDIAN_WALL)


_GROUPS = (
    _preempting,
    _large_gang,
    _resizes,
    _trees,
    _crowded,
    _improving,
    _preemptors,
    _waiting,
    _placing,
    _scheduling,
    _meanwhile,
    _mini_cluster,
    _daemon,
    _first_deletes,
    _whatif,
    _study,
    _page,
)
CASES: Mapping[str, Case] = {case.name: case for group in _GROUPS for case in group()}


def chosen(patterns: Sequence[str]) -> tuple[Case, ...]:
    """All that a pattern matches, in the order of the list; without patterns, all there are."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in CASES):
            raise UsageError(f"no case is named {pattern!r}; {nearest(pattern, CASES)}")
    return tuple(
        case for case in CASES.values() if not patterns or any(fnmatchcase(case.name, p) for p in patterns)
    )
