"""Pods in a table."""

import msgspec
from tests.unit.report import texts
from tests.unit.scheduler.crowds import a_member
from tests.unit.scheduler.making import a_pod, leaving

from reprieve_minicluster.scenes.tables import pod_table


def test_where_pods_are_and_what_they_do() -> None:
    waiting = a_pod("waiting")
    promised = msgspec.structs.replace(
        waiting, status=msgspec.structs.replace(waiting.status, nominated_node_name="n2")
    )
    pods = [a_member("g-0", priority=9, on="n1"), leaving(a_pod("old", on="n1")), waiting, promised]
    assert texts(pod_table(pods)) == [
        "POD              PRIORITY  GROUP  NODE  STATE",
        "default/g-0             9  g      n1    pending",
        "default/old             0  -      n1    terminating",
        "default/waiting         0  -      -     pending",
        "default/waiting         0  -      -     nominated to n2",
    ]
