"""Which of the feasible nodes is better: one function per preference, 0 to 100 each."""

from collections.abc import Mapping

from reprieve.placement.demand import Scorer
from reprieve.placement.profile import Preference
from reprieve.placement.scoring import node, pods, resources, spread

SCORERS: Mapping[Preference, Scorer] = {
    Preference.RESOURCES: resources.allocation,
    Preference.BALANCE: resources.balance,
    Preference.TAINTS: node.taints,
    Preference.NODE_AFFINITY: node.affinity,
    Preference.PODS: pods.pod_affinity,
    Preference.SPREAD: spread.spread,
    Preference.IMAGES: node.images,
}
