"""Simulated kubelets of all nodes: they admit, start, resize, preempt and stop pods."""

from reprieve.cluster.mini.kubelet.kubelet_pod import RUN_SECONDS, STOP_SECONDS
from reprieve.cluster.mini.kubelet.kubelets import Kubelets
from reprieve.cluster.mini.kubelet.timing import DEFAULT_TIMING, KubeletTiming

__all__ = ["DEFAULT_TIMING", "RUN_SECONDS", "STOP_SECONDS", "KubeletTiming", "Kubelets"]
