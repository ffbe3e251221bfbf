"""The flags that name a source of decisions; how it is read is not known here."""

from pathlib import Path

import click

from reprieve.cli.go_flags import together

server_flags = together(
    click.option(
        "--server",
        default="",
        metavar="URL",
        help="Read from a running scheduler, as in https://HOST:10259. "
        "Default: the server of the kubeconfig, if `reprieve up` runs it.",
    ),
    click.option(
        "--certificate-authority",
        "authority",
        default="",
        metavar="FILE",
        help="Certificates to trust --server by.",
    ),
    click.option(
        "--insecure-skip-tls-verify", "insecure", is_flag=True, help="Trust any certificate of --server."
    ),
)
scheduler_flags = together(
    click.option(
        "--journal",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Read the journal in DIR: of `reprieve up --data-dir D`, D/journal.",
    ),
    server_flags,
)
