"""What is a job of a trace? The record that every importer makes, and that a simulation plays.

Where it comes from, and which scheduler it meets, is not known here.
"""

from dataclasses import dataclass

GPU = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Pods of one shape that arrive together.

    ``gang``: how many of them must run together; 0: each pod runs by itself. A gang makes progress while that
    many run, and begins anew when fewer do. ``whole``: it is preempted whole, not pod by pod.
    """

    name: str
    arrival: float  # seconds since the beginning of the trace
    duration: float  # seconds that each pod, or the gang as a whole, has to run
    pods: int = 1
    requests: tuple[tuple[str, str], ...] = ()  # of one pod: resources by name, as quantities
    priority: int = 0
    gang: int = 0
    whole: bool = False
    tenant: str = "default"
    budget: int | None = None  # how many of its pods should stay available; None: no budget
    checkpoint: float = 0.0  # seconds of work between checkpoints; 0: work that is cut off is lost
    grace: float = 30.0  # seconds from an eviction until the room is free
    selector: tuple[tuple[str, str], ...] = ()  # labels of the nodes that it may run on

    @property
    def is_gang(self) -> bool:
        return self.gang > 0
