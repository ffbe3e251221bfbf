"""Does every job of a generated trace end, with all of its work done?

By hand: `python -m tests.simulation.many_studies 0 1000`.
"""

import sys

import pytest

from reprieve.assembly.scheduler_settings import EVERYTHING, settings_of
from reprieve.config import parse_configuration
from reprieve.preemption.criteria import DISTURBANCE, WORKLOADS_ENDED
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.settings import Settings
from reprieve_study.cell import EPOCH, Simulation, fits_at_all
from reprieve_study.generator import GeneratorOptions, generated
from reprieve_study.job import GPU
from reprieve_study.measures import Measures, amount_of
from reprieve_study.node_pools import pool

OPTIONS = GeneratorOptions(days=0.02, nodes=2, load=1.5, mean_hours=0.1)


def settings(policy: str) -> Settings:
    args: dict[str, object] = {"policy": policy}
    if policy != "Upstream":
        # The first plan at once: how long a solver takes is not the same in both. Nor are the owners of pods.
        args["planningPatience"] = "0s"
        args["disturbance"] = [one.name for one in DISTURBANCE if one is not WORKLOADS_ENDED]
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "Reprieve", "args": args}]}],
    }
    return settings_of(parse_configuration(document), EVERYTHING)


def check_that_every_job_ends(seed: int) -> int:
    """Gives the number of jobs; every other seed is played under kube-scheduler's policy."""
    cluster = pool("gpu8x2")
    fitting = [job for job in generated(OPTIONS, seed) if fits_at_all(job, cluster)]
    measures = Measures(cluster, fitting, EPOCH, (0.0, 1e9))
    chosen = settings(("Upstream", "Reprieve")[seed % 2])
    outcome = Simulation(Scheduler(chosen), cluster, measures, next(iter(chosen.profiles))).run(fitting, 1e6)
    result = measures.result(outcome.unfinished)
    assert result.finished + result.unfinished == len(fitting), seed
    assert result.unfinished == 0, seed
    asked = sum(job.pods * job.duration * amount_of(job, GPU) for job in fitting) / 3600
    assert result.work_done == pytest.approx(asked), seed
    return len(fitting)


def main(first: int, last: int) -> int:
    """Plays all of them; the number of those that failed."""
    jobs, failed = 0, []
    for seed in range(first, last):
        try:
            jobs += check_that_every_job_ends(seed)
        except AssertionError as error:
            failed.append(seed)
            print(f"trace {seed} failed: {error}", flush=True)
        if (seed + 1 - first) % 50 == 0:
            print(f"{seed + 1 - first} traces, {jobs} jobs, {len(failed)} failed", flush=True)
    if not failed:
        print(f"{last - first} traces with {jobs} jobs: every job ended, and all of its work was done")
    return len(failed)


if __name__ == "__main__":
    sys.exit(1 if main(*map(int, sys.argv[1:])) else 0)
