"""`reprieve demo` with files of one's own, and how its lines fit a terminal."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reprieve.cli.main import reprieve
from reprieve.report.text_layout import LineStyle, TextLine, folded, indented, table
from reprieve_minicluster.commands.demo import demo

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: %s}}}]}
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").write_text(NODE)


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(reprieve, arguments, input=stdin, prog_name="reprieve")


@pytest.mark.parametrize(("cpu", "code"), [(1, 0), (5, 20)])
def test_files_of_ones_own_are_answered_as_whatif_answers(cpu: int, code: int) -> None:
    Path("pods.yaml").write_text(POD % cpu)
    asked = run("demo", "--cluster", "cluster.yaml", "-f", "pods.yaml")
    assert asked.exit_code == code
    assert asked.output == run("whatif", "--from", "cluster.yaml", "-f", "pods.yaml").output
    assert "default/p" in asked.output


def test_pods_of_ones_own_in_the_cluster_that_comes_along() -> None:
    asked = run("demo", "-f", "-", stdin=POD % 1)
    assert asked.exit_code == 0, asked.output


def test_wrong_usage() -> None:
    assert run("demo", "--no-such-option").exit_code == 2
    assert run("demo", "unexpected").exit_code == 2
    alone = run("demo", "--cluster", "cluster.yaml")
    assert alone.exit_code == 2
    assert "--cluster: expected -f FILE, too" in alone.output
    assert run("demo", "-f", "no-such-file").exit_code == 1


def test_no_path_is_absolute() -> None:
    shown = CliRunner().invoke(demo, ["--scene", "placement"], prog_name="reprieve demo").output
    assert "reprieve_minicluster/demo/cluster.yaml" in shown
    assert str(Path(demo.callback.__code__.co_filename).parent.parent) not in shown  # type: ignore[union-attr]


# --- lines ---------------------------------------------------------------------------------------


def texts(lines: list[TextLine]) -> list[str]:
    return [line.text for line in lines]


def test_the_last_cell_of_a_row_is_folded_below_itself() -> None:
    rows = table(["NODE", "WHY"], [["n1", "has the taint gpu, which the pod does not tolerate"]])
    assert [text for line in rows for text in texts(folded(line, 32))] == [
        "NODE  WHY",
        "n1    has the taint gpu, which",
        "      the pod does not tolerate",
    ]


def test_a_cell_without_room_gets_lines_of_its_own() -> None:
    (_, row) = indented(table(["A", "B"], [["a" * 24, "one two three four"]]))
    assert texts(folded(row, 30)) == ["  " + "a" * 24, "    one two three four"]


def test_what_cannot_be_folded_stays() -> None:
    assert texts(folded(TextLine("a" * 40), 30)) == ["a" * 40]
    command = TextLine("$ kubectl apply -f a-very-long-name.yaml", LineStyle.FAINT, whole=True)
    assert folded(command, 20) == [command]


def test_prose_is_folded_with_its_indent() -> None:
    (line,) = indented([TextLine("one two three four five six")])
    assert texts(folded(line, 16)) == ["  one two three", "  four five six"]
