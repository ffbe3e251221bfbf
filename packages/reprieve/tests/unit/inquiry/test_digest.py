"""The digest of an answer: the same as long as it holds, and another one as soon as it does not."""

from pathlib import Path
from typing import Any

from tests.unit.inquiry.asking import ask, report
from tests.unit.inquiry.objects import node, pod

NEW = pod("new", 8, level="urgent")


def cluster(victim: str = "old", heartbeat: str = "2026-03-02T09:59:00Z") -> list[Any]:
    beating = node("n1")
    beating["metadata"]["resourceVersion"] = heartbeat[-3:-1]
    beating["status"]["conditions"][0]["lastHeartbeatTime"] = heartbeat
    return [beating, pod(victim, 8, on="n1", level="low")]


def test_heartbeats_do_not_change_it(tmp_path: Path) -> None:
    digest = ask(tmp_path, cluster(), [NEW], "-o", "digest").stdout.strip()
    assert report(tmp_path, cluster(), [NEW])["digest"] == digest
    later = ask(tmp_path, cluster(heartbeat="2026-03-02T10:07:11Z"), [NEW], "--if-unchanged", digest)
    assert later.exit_code == 10, later.output


def test_other_victims_outcomes_and_nodes_do(tmp_path: Path) -> None:
    digest = ask(tmp_path, cluster(), [NEW], "-o", "digest").stdout.strip()
    for changed in (cluster("other"), cluster()[:1], [*cluster(), node("n2")]):
        done = ask(tmp_path, changed, [NEW], "--if-unchanged", digest)
        assert done.exit_code == 30, done.output
        assert "The answer has changed: its digest is " in done.stderr
        assert done.stderr.endswith(f", not {digest}.\n")


def test_what_is_no_digest_is_wrong_usage(tmp_path: Path) -> None:
    assert ask(tmp_path, cluster(), [NEW], "--if-unchanged", "nonsense").exit_code == 2
