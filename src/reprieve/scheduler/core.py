"""The scheduler as a state machine: events in, effects out. It does no I/O and asks no clock."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from reprieve.model.effects import Announce, Bind, BindVolume, Effect, SelectNode, SetCondition, Target, Tone
from reprieve.model.events import Done, Event, Failed, Gone, Seen, Synced, Unknown, Unread
from reprieve.model.objects import PersistentVolumeClaim, Pod
from reprieve.model.snapshot import runs
from reprieve.placement.constraints.volumes import bindings
from reprieve.placement.demand import Ask
from reprieve.placement.place import Placement, place, pod_demand
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.scheduler.changes import Change, helpful
from reprieve.scheduler.decision import (
    Decided,
    Decision,
    Outcome,
    decision_id,
    findings_of,
)
from reprieve.scheduler.ledger import Assumed, Ledger, Promise
from reprieve.scheduler.queue import Backoff, Key, Queue
from reprieve.scheduler.world import World

_LONGEST_NOTE = 1024  # what an event may say
_RESEND_AFTER = 10.0  # seconds until a bind whose answer was lost is tried again


@dataclass(frozen=True, slots=True)
class Settings:
    """What the state machine must be told."""

    profiles: Mapping[str, Profile] = field(default_factory=lambda: {"reprieve": DEFAULT_PROFILE})
    backoff: Backoff = Backoff()
    volume_seconds: float = 600.0  # how long volumes may take before the pod is tried elsewhere
