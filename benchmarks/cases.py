"""Which cases are there, and which of them does a pattern mean?

A case names its workload and the workload's arguments. Nothing of the product is imported here, so that listing
the cases costs nothing, and so that a case's process imports only what the case needs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase

from benchmarks.names import UsageError, nearest
from benchmarks.worlds.shapes import shapes


class Compared(Enum):
    """Which figure of a run tells two revisions apart."""

    MEDIAN_CPU = "median processor time"  # of calls that are alike
    MEAN_CPU = "mean processor time"  # of calls that are not: what they take together counts
    MEDIAN_WALL = "median time"  # where waiting is what is measured


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    about: str
    workload: str  # a module of benchmarks.workloads
    arguments: Mapping[str, object] = field(default_factory=dict)
    compared: Compared = Compared.MEDIAN_CPU
    beside: bool = False  # the product runs as a program of its own, and the workload beside it
    made_world: bool = False  # the cluster comes from make_world.py


_VARIANTS = {
    "priorities": "every pod has one of 900 priorities",
    "groups": "the running pods are in groups that are evicted whole",
    "budgets": "a tenth of the pods is under budgets that allow nothing",
    "all-budgets": "every pod is under a budget that allows nothing",
    "spread": "the preemptors spread over zones among themselves",
    "tolerations": "half of the pods tolerate every preemption",
}
_POD_VARIANTS = {
    "spread-all": "the preemptor spreads over zones among all pods",
    "anti-affinity": "the preemptor bears no other pod on its node",
}
_SIZES = (100, 1000, 5000)


def _all() -> Iterator[Case]:
    yield from _preempting()
    yield from _crowded()
    yield from _preemptors()
    yield from _placing()
    yield from _scheduling()
    yield from _mini_cluster()
    yield from _daemon()


def _preempting() -> Iterator[Case]:
    for nodes, gang in ((500, 50), (5000, 100)):
        for name, pods, what in ((f"P{nodes}", 1, "a pod"), (f"G{nodes}", gang, f"a gang of {gang}")):
            about = f"{what} preempts on {nodes} full nodes"
            arguments = {"nodes": nodes, "pods": pods}
            yield Case(name, about, "preempting", arguments)
            upstream = {**arguments, "policy": "Upstream"}
            yield Case(f"{name}-upstream", f"{about}, by the policy Upstream", "preempting", upstream)
    variants = [("P5000", 5000, 1, {**_VARIANTS, **_POD_VARIANTS}), ("G5000", 5000, 100, _VARIANTS)]
    variants.append(("G500", 500, 50, {"anti-affinity": "the preemptors bear no other pod on their nodes"}))
    for name, nodes, pods, harder in variants:
        for variant, how in harder.items():
            arguments = {"nodes": nodes, "pods": pods, "variant": variant}
            yield Case(f"{name}-{variant}", f"as {name}; {how}", "preempting", arguments)


def _crowded() -> Iterator[Case]:
    newcomers = (
        ("H1000-pod", 1, 16000, "Nominate", "a pod of 16 cpu preempts"),
        ("H1000-gang", 32, 8000, "Nominate", "a gang of 32 pods of 8 cpu preempts"),
        ("H1000-gang-fits", 32, 4000, "Bind", "a gang of 32 pods of 4 cpu fits without preemption"),
        ("H5000-pod", 1, 8000, "Nominate", "a pod of 8 cpu and 4 GPUs preempts"),
        ("H5000-gang", 32, 8000, "Nominate", "a gang of 32 pods of 8 cpu and 4 GPUs preempts"),
    )
    for name, pods, millicpu, expected, about in newcomers:
        world = name.partition("-")[0]
        arguments = {"world": world, "pods": pods, "millicpu": millicpu, "expected": expected}
        yield Case(name, f"{about} in the world {world}", "crowded", arguments, made_world=True)


def _preemptors() -> Iterator[Case]:
    for preemptors in (100, 500):
        about = f"{preemptors} pods preempt on 5000 full nodes, and all their plans are open"
        arguments = {"nodes": 5000, "preemptors": preemptors}
        yield Case(f"preemptors-{preemptors}", about, "preemptors", arguments, Compared.MEAN_CPU)


def _placing() -> Iterator[Case]:
    for shape in shapes():
        about = f"a pod finds room on 5000 half-full nodes: {shape.name}"
        arguments = {"nodes": 5000, "shape": shape.name}
        yield Case(f"place-{shape.name}", about, "placing", arguments)


def _scheduling() -> Iterator[Case]:
    for nodes in _SIZES:
        cluster = f"{nodes} half-full nodes"
        arguments = {"nodes": nodes}
        about = f"2000 pods are scheduled on {cluster}"
        yield Case(
            f"schedule-{nodes}", f"{about}: the scheduler alone", "scheduling", arguments, Compared.MEAN_CPU
        )
        if nodes == max(_SIZES):
            for around in ("metrics", "journal"):
                with_it = {**arguments, "around": around}
                named = "metrics" if around == "metrics" else "metrics and a journal"
                yield Case(
                    f"schedule-{nodes}-{around}",
                    f"{about}, with {named}",
                    "scheduling",
                    with_it,
                    Compared.MEAN_CPU,
                )
        about = f"the same with the loop and a mini cluster, in virtual time ({cluster})"
        yield Case(f"loop-{nodes}", about, "looping", arguments, Compared.MEAN_CPU)
        about = f"20000 events are decoded and observed: new pods, and reports of {cluster} and their pods"
        yield Case(f"observe-{nodes}", about, "observing", arguments, Compared.MEAN_CPU)
        about = f"a scheduler sees {cluster} for the first time; its memory then"
        yield Case(f"sync-{nodes}", about, "syncing", arguments, Compared.MEAN_CPU)
    yield Case("decode", "a pod is decoded from JSON", "decoding")
    for preempt, meanwhile, name, about in (
        (False, True, "none", "without preemptions"),
        (True, True, "async", "beside preemptions"),
        (True, False, "sync", "beside preemptions, without asynchronous preemption"),
    ):
        about = f"until a small pod is bound {about}, where an API call takes 200 ms"
        arguments = {"preempt": preempt, "decide_meanwhile": meanwhile}
        yield Case(f"meanwhile-{name}", about, "meanwhile", arguments, Compared.MEDIAN_WALL)


def _mini_cluster() -> Iterator[Case]:
    for watchers in (1, 10, 100):
        about = f"the mini cluster writes a pod over HTTP and shows it to {watchers} watchers"
        yield Case(f"serve-{watchers}", about, "serving", {"watchers": watchers}, Compared.MEDIAN_WALL)
    size = {"nodes": 5000, "pods": 50_000}
    for what, about in (
        ("all", "lists all of 50000 pods; its memory"),
        ("page", "lists 500 of 50000 pods"),
        ("node", "lists the pods of one node among 50000"),
    ):
        yield Case(f"list-{what}", f"the mini cluster {about}", "listing", {"what": what, **size})
    yield Case("write", "the mini cluster's store writes a pod", "storing")
    yield Case("write-disk", "the same, and keeps it on disk", "storing", {"on_disk": True})
    yield Case("restore", "a store with 50000 pods is read from disk", "restoring", size)


def _daemon() -> Iterator[Case]:
    large = "at 5000 nodes and 50000 pods"
    yield Case(
        "daemon-import", "`reprieve scheduler` is loaded; memory at its highest", "loading", beside=True
    )
    yield Case(
        "daemon-start",
        f"from its start until it binds the first pod {large}; its memory then",
        "starting",
        beside=True,
    )
    for name, about in (
        ("idle", "a second in which nothing happens"),
        ("heartbeats-5min", "a second while every node reports every 5 minutes"),
        ("heartbeats-10s", "a second while every node reports every 10 seconds"),
        ("load", "a pod that fits, while 1500 come together"),
        ("load-journal", "the same, with a journal"),
        ("preemption", "a pod that preempts, while 150 come together"),
    ):
        arguments = {"what": name}
        yield Case(
            f"daemon-{name}",
            f"what {about} costs it {large}",
            "daemon",
            arguments,
            Compared.MEAN_CPU,
            beside=True,
        )


CASES: Mapping[str, Case] = {case.name: case for case in _all()}


def chosen(patterns: Sequence[str]) -> tuple[Case, ...]:
    """All that a pattern matches, in the order of the list; without patterns, all there are."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in CASES):
            raise UsageError(f"no case is named {pattern!r}; {nearest(pattern, CASES)}")
    return tuple(
        case for case in CASES.values() if not patterns or any(fnmatchcase(case.name, p) for p in patterns)
    )
