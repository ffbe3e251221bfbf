"""The scene of `reprieve demo` about an in-place resize."""

import re

from tests.e2e.test_demo_preemption import happenings, pods, shown

BEFORE = {"shop/db-0": "node-1", "shop/report-0": "node-1", "shop/report-1": "node-1", "shop/web-0": "node-1"}


def test_one_pod_is_preempted_and_none_where_the_node_forbids_it() -> None:
    _, first, policy, last = re.split(r"\n\$ kubectl patch ", shown("resize"))
    assert [text for _, text in happenings(first)][:1] == [
        "Pod shop/db-0 is to be resized to cpu 5; the kubelet on node-1 defers it"
    ]
    assert "preempting 1 pod on node-1." in first
    gone = next(at for at, text in happenings(first) if text == "Pod shop/report-1 was deleted")
    assert (gone, "Pod shop/db-0 now has cpu 5 on node-1") in happenings(first)
    assert pods(first).keys() == BEFORE.keys() - {"shop/report-1"}
    assert policy.startswith("node node-1 ")
    assert "is disabled by example.com/node-autoscaler" in last
    assert pods(last) == pods(first)
