"""Zone and region labels of bound volumes."""

from collections.abc import Iterator

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.csi_migration import BETA_REGION, BETA_ZONE, REGION, ZONE
from reprieve.model.nodes import Nodes
from reprieve.model.volumes import ZoneRule
from reprieve.placement.constraints.volumes.claim_checks import claims_of
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code, Reason, Rejection

_SUCCESSOR = {BETA_ZONE: ZONE, BETA_REGION: REGION}


def zones(ask: Ask) -> Iterator[Rejection]:
    if not ask.shape.claims:
        return
    for claim in claims_of(ask):
        volume = ask.view.storage.volumes.get(claim.volume_name)
        if volume is None or not volume.zones or claim.key[1] in ask.shape.ephemeral_claims:
            continue
        elsewhere = np.zeros(len(ask.view.nodes), np.bool_)
        for rule in volume.zones:
            elsewhere |= ~_meeting(ask.view.nodes, rule)
        elsewhere &= _zoned(ask.view.nodes)
        yield Rejection(elsewhere, Reason(Code.VOLUME_ZONE, volume.name), curable=False)


def _zoned(nodes: Nodes) -> Mask:
    """Nodes with a zone or region label; nodes without one reach every volume."""
    zoned = np.zeros(len(nodes), np.bool_)
    for key in (BETA_ZONE, BETA_REGION, ZONE, REGION):
        zoned |= nodes.label(key).codes != 0
    return zoned


def _meeting(nodes: Nodes, rule: ZoneRule) -> Mask:
    column = nodes.label(rule.key)
    meeting = column.where_in(rule.values)
    if (successor := _SUCCESSOR.get(rule.key)) is not None:
        meeting |= (column.codes == 0) & nodes.label(successor).where_in(rule.values)
    return meeting
