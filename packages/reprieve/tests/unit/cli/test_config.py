"""`reprieve config`: defaults that can be used, and every mistake of a file."""

from pathlib import Path

from click.testing import CliRunner

from reprieve.cli.config import config


def test_the_defaults_are_right(tmp_path: Path) -> None:
    printed = CliRunner().invoke(config, ["defaults"])
    assert printed.exit_code == 0
    file = tmp_path / "config.yaml"
    file.write_text(printed.output)
    done = CliRunner().invoke(config, ["validate", str(file)])
    assert done.output == f"{file} is valid. It schedules pods with schedulerName reprieve.\n"


def validated(text: str) -> tuple[int, str, str]:
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    done = CliRunner().invoke(config, ["validate", "-"], input=head + text)
    return done.exit_code, done.stdout, done.stderr


def test_every_error_is_reported() -> None:
    code, _, told = validated("extenders: [{}]\nprofiles: [{schedulerNmae: x}]\n")
    assert code == 2
    assert '-: profiles[0].schedulerNmae: unknown field (did you mean "schedulerName"?)' in told
    assert "-: extenders[0]: extenders are not supported" in told


def test_what_is_left_out_is_a_warning() -> None:
    score = "{score: {enabled: [{name: Fancy}]}}"
    code, said, told = validated(f"profiles: [{{plugins: {score}}}]\n")
    assert code == 0
    assert "Warning: -: profiles[0].plugins.score.enabled[0].name: Reprieve has no scoring plugin" in told
    assert said == "- is valid. It schedules pods with schedulerName reprieve.\n"


def test_two_documents_are_one_too_many() -> None:
    code, _, told = validated("---\na: b\n")
    assert code == 2
    assert "expected one KubeSchedulerConfiguration, got 2 documents" in told


def test_a_key_that_stands_twice_is_a_mistake() -> None:
    """As for kube-scheduler; a YAML parser would silently take the last one."""
    profiles = "profiles: [{schedulerName: a, schedulerName: b}]\n"
    code, _, told = validated(f"parallelism: 3\n{profiles}parallelism: 4\n")
    assert code == 2
    for path in ("parallelism", "profiles[0].schedulerName"):
        assert f"-: {path}: duplicate key" in told


def test_a_duplicate_key_hides_no_other_error() -> None:
    args = "{name: Reprieve, args: {preemptionPriorityClasses: [{class: x, namespaces: []}]}}"
    code, _, told = validated(f"parallelism: 3\nparallelism: 4\nprofiles: [{{pluginConfig: [{args}]}}]\n")
    assert code == 2
    for path in ("parallelism", "profiles[0].pluginConfig[0].args.preemptionPriorityClasses[0].namespaces"):
        assert f"-: {path}: " in told
