"""Simulated kubelets of all nodes: they admit, start, resize, preempt and stop pods."""

from reprieve_minicluster.kubelet.kubelet_pod import DEFAULT_TIMING, RUN_SECONDS, STOP_SECONDS, KubeletTiming
from reprieve_minicluster.kubelet.kubelets import Kubelets

__all__ = ["DEFAULT_TIMING", "RUN_SECONDS", "STOP_SECONDS", "KubeletTiming", "Kubelets"]
