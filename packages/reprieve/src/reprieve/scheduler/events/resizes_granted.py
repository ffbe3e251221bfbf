"""How many running members of a gang have the resources that they ask for? The condition ResizesGranted.

How members that grow are decided is in ``member_growth``.
"""

from reprieve.model.conditions import is_deferred
from reprieve.model.formatting import counted, listed
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.shape import CompiledPod
from reprieve.scheduler.events.member_growth import asks_to_grow, running_members
from reprieve.scheduler.state import State

_NAMED = 5  # pods in the text; more are counted


def note_resize(state: State, before: CompiledPod | None, known: CompiledPod | None) -> None:
    """A pod comes, changes or goes: how many members have what they ask for may be another number."""
    pods = [pod for pod in (before, known) if pod is not None]
    group = group_key(pods[-1].pod) if pods and state.gang_growth.is_on else None
    if group is None:
        return
    if any(is_deferred(pod.pod) for pod in pods):
        state.resized.add(group)
        return
    shown = state.world.groups.group(group)
    if shown is not None and state.reporter.reports_growth(shown):
        state.resized.add(group)


def report_granted(state: State, gang: GroupKey) -> None:
    group = state.world.groups.group(gang)
    if group is None or group.spec.gang is None or group.metadata.deletion_timestamp is not None:
        return
    running = running_members(state, gang)
    short = [pod for pod in running if not _has_what_it_asks_for(pod)]
    if any(asks_to_grow(state, pod) for pod in short) or state.reporter.reports_growth(group):
        state.reporter.report_growth(group, _text(running, short), is_complete=not short)


def _has_what_it_asks_for(pod: CompiledPod) -> bool:
    weight = pod.weight
    return all(weight.held.get(name, 0) >= wants for name, wants in weight.desired.items())


def _text(running: list[CompiledPod], short: list[CompiledPod]) -> str:
    if not running:
        return "no pod of the group runs"
    if not short:
        one = "the only running pod has the resources that it asks for"
        many = f"all {len(running)} running pods have the resources that they ask for"
        return one if len(running) == 1 else many
    names = sorted(f"{pod.pod.metadata.name} on {pod.pod.spec.node_name}" for pod in short)
    has, wait = (
        f"{len(running) - len(short)} of {counted(len(running), 'running pod')}",
        listed(names, _NAMED),
    )
    return f"{has} have the resources that they ask for; waiting: {wait}"
