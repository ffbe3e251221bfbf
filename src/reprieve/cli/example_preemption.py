"""Which example shows a preemption in a cluster that has just started? Its objects, and what to type.

How the cluster is started is not known here.
"""

import shlex
import shutil
import sys
from pathlib import Path

from reprieve.assembly.mini_cluster import FreeNode

FILE = "example.yaml"
_SHARE = 0.6  # of the node: there is room for one of the two pods, and not for both
_OBJECTS = """\
# Two pods that do not fit on {node} together. The victim has its node already: it runs there before the
# urgent pod is scheduled.
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: urgent}}
value: 1000
description: For pods that may preempt those without a priority class.
---
apiVersion: v1
kind: Pod
metadata: {{name: batch}}
spec:
  nodeName: {node}
  containers:
  - name: main
    image: example/batch:1
    resources: {{requests: {{cpu: {cpu}m}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: urgent}}
spec:
  schedulerName: {scheduler}
  priorityClassName: urgent
  nodeSelector: {{kubernetes.io/hostname: {node}}}
  containers:
  - name: main
    image: example/urgent:1
    resources: {{requests: {{cpu: {cpu}m}}}}
"""


def example_objects(free: FreeNode, scheduler: str) -> str:
    """``scheduler``: the name by which pods ask for the cluster's scheduler."""
    return _OBJECTS.format(node=free.name, cpu=int(free.milli_cpu * _SHARE), scheduler=scheduler)


def example_commands(file: Path) -> tuple[str, ...]:
    """The command that causes a preemption, and the one that explains it."""
    return f"kubectl apply -f {shlex.quote(str(file))}", f"{own_command()} why pod/batch"


def own_command() -> str:
    """`reprieve`, or the path by which it was started if the shell would not find it."""
    return "reprieve" if shutil.which("reprieve") else shlex.quote(sys.argv[0])
