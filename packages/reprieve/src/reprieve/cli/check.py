"""`reprieve check`: can Reprieve be the scheduler of this cluster?"""

import asyncio
from typing import Any

import click

from reprieve.assembly.checking import CheckReport, Grade
from reprieve.assembly.checking import check_cluster as checked
from reprieve.assembly.daemon import DaemonError
from reprieve.cli.cluster_flags import context_flag, kubeconfig_flag
from reprieve.cli.config import config_error, document_in
from reprieve.cli.flag_values import text_flag
from reprieve.cli.terminal import DOCUMENT_FORMATS, output_flag, say_document, show
from reprieve.config import InvalidConfigurationError
from reprieve.report.text_layout import BLANK, LineStyle, TextLine

_TONES = {Grade.GOOD: LineStyle.FAINT, Grade.WARNING: LineStyle.PLAIN, Grade.BAD: LineStyle.BAD}
_CANNOT = 1  # exit code


@click.command()
@click.option("--config", "config_file", metavar="FILE", help="A KubeSchedulerConfiguration; `-` for stdin.")
@kubeconfig_flag
@context_flag
@text_flag("--feature-gates", "A=true,B=false", "As for `reprieve scheduler`.")
@output_flag("text", *DOCUMENT_FORMATS)
@click.pass_context
def check(  # noqa: PLR0913, PLR0917  one for each flag
    ctx: click.Context,
    config_file: str | None,
    kubeconfig: str,
    context: str,
    feature_gates: str,
    output: str,
) -> None:
    """Check whether Reprieve can schedule this cluster: version, API groups, permissions, feature gates.

    Nothing is changed in the cluster.

    Exit codes: 0 if it can, 1 if it cannot or the check failed, 2 if flags or configuration are invalid.
    """
    document = document_in(config_file)
    try:
        report = asyncio.run(checked(document, feature_gates, kubeconfig, context))
    except InvalidConfigurationError as error:
        raise config_error(config_file, error) from error
    except DaemonError as error:
        raise click.ClickException(str(error)) from error
    if output in DOCUMENT_FORMATS:
        say_document(_document(report), output)
    else:
        show(_lines(report))
    ctx.exit(0 if report.can_schedule else _CANNOT)


def _document(report: CheckReport) -> dict[str, Any]:
    found = [{"code": f.code, "grade": f.grade.value, "text": f.text} for f in report.findings]
    head = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "CheckReport"}
    about = {"server": report.server, "version": report.version, "canSchedule": report.can_schedule}
    return {**head, **about, "findings": found}


def _lines(report: CheckReport) -> list[TextLine]:
    found = [
        TextLine(f"{f.grade.value.lower():8}{f.code}: {f.text}", _TONES[f.grade]) for f in report.findings
    ]
    answer = "can" if report.can_schedule else "cannot"
    tone = LineStyle.GOOD if report.can_schedule else LineStyle.BAD
    return [*found, BLANK, TextLine(f"Reprieve {answer} be the scheduler of {report.server}.", tone)]
