"""How full nodes are, as a table."""

from tests.unit.report import node, pod, texts, view_of

from reprieve_minicluster.scenes.tables import node_table


def test_one_row_for_each_node_by_name() -> None:
    view = view_of(
        node("b"), node("a", cpu="16"), pod("p", on="a", cpu="500m"), pod("q", on="a"), pod("waits")
    )
    assert texts(node_table(view)) == [
        "NODE  CPU          MEMORY         PODS",
        "a     1.5/16 (9%)  2Gi/8Gi (25%)  2/110",
        "b     0/4 (0%)     0/8Gi (0%)     0/110",
    ]


def test_a_resource_has_a_column_if_any_node_has_some_of_it() -> None:
    view = view_of(node("a"), node("b", gpus="8"))
    head, first, second = texts(node_table(view))
    assert head == "NODE  CPU       MEMORY      GPU       PODS"
    assert "  -  " in first
    assert "  0/8 (0%)  " in second


def test_zones_and_taints_are_shown_where_there_are_any() -> None:
    taints = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
    view = view_of(node("a", zone="z1"), node("b", unschedulable=True, taints=taints))
    head, first, second = (line.split() for line in texts(node_table(view)))
    assert (head[1], first[1], second[1]) == ("ZONE", "z1", "-")
    assert (head[-1], first[-1], second[-2:]) == ("TAINTS", "0/110", ["cordoned,", "k=v:NoSchedule"])


def test_only_some_nodes() -> None:
    view = view_of(node("a"), node("b"), node("c"))
    assert [line.split()[0] for line in texts(node_table(view, [2, 0]))] == ["NODE", "a", "c"]
