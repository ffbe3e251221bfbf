"""`reprieve check`: can I be this cluster's scheduler?"""

import asyncio
import json
from typing import Any

import click

from reprieve.assembly.checking import CheckReport, Grade
from reprieve.assembly.checking import check as checked
from reprieve.assembly.daemon import DaemonError
from reprieve.cli.configuring import document_in, wrong
from reprieve.cli.screen import show
from reprieve.config import InvalidConfigurationError
from reprieve.report.text import BLANK, Line, Tone

_TONES = {Grade.GOOD: Tone.FAINT, Grade.WARNING: Tone.PLAIN, Grade.BAD: Tone.BAD}
_CANNOT = 1


@click.command()
@click.option("--config", "config_file", metavar="FILE", help="A KubeSchedulerConfiguration; `-` is stdin.")
@click.option("--kubeconfig", default="", metavar="FILE", help="Otherwise as kubectl finds it, or a pod.")
@click.option("--context", default="", metavar="NAME", help="Of the kubeconfig; otherwise the current one.")
@click.option("--feature-gates", default="", metavar="A=true,B=false", help="As for the scheduler.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="For people, or for programs."
)
@click.pass_context
def check(  # noqa: PLR0913, PLR0917  one for each flag
    ctx: click.Context,
    config_file: str | None,
    kubeconfig: str,
    context: str,
    feature_gates: str,
    output: str,
) -> None:
    """Can I be this cluster's scheduler? Versions, API groups, rights, feature gates; nothing is changed.

    Exit codes: 0 if I can, 1 if not or if it cannot be found out, 2 if flags or configuration are wrong.
    """
    document = document_in(config_file)
    try:
        report = asyncio.run(checked(document, feature_gates, kubeconfig, context))
    except InvalidConfigurationError as error:
        raise wrong(config_file, error) from error
    except DaemonError as error:
        raise click.ClickException(f"{error}.") from error
    if output == "json":
        click.echo(json.dumps(_document(report), indent=2))
    else:
        show(_lines(report))
    ctx.exit(0 if report.can_schedule else _CANNOT)


def _document(report: CheckReport) -> dict[str, Any]:
    found = [{"code": f.code, "grade": f.grade.value, "text": f.text} for f in report.findings]
    head = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "CheckReport"}
    about = {"server": report.server, "version": report.version, "canSchedule": report.can_schedule}
    return {**head, **about, "findings": found}


def _lines(report: CheckReport) -> list[Line]:
    found = [Line(f"{f.grade.value.lower():8}{f.code}: {f.text}", _TONES[f.grade]) for f in report.findings]
    answer = "can" if report.can_schedule else "cannot"
    tone = Tone.GOOD if report.can_schedule else Tone.BAD
    return [*found, BLANK, Line(f"Reprieve {answer} be the scheduler of {report.server}.", tone)]
