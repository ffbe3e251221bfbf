"""Simulated kubelets: they admit, start, resize and end the pods of all nodes."""

from reprieve.cluster.mini.kubelet.guests import RUN_SECONDS, STOP_SECONDS
from reprieve.cluster.mini.kubelet.kubelets import Kubelets
from reprieve.cluster.mini.kubelet.pace import DEFAULT_PACE, Pace

__all__ = ["DEFAULT_PACE", "RUN_SECONDS", "STOP_SECONDS", "Kubelets", "Pace"]
