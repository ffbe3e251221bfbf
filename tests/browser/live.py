"""`reprieve up` with its page, in a process of its own."""

import json
import re
import signal
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprieve.model.json import Json
from tests.e2e.up import PATIENCE, kubeconfig_in, process_of

CLASSES = [("batch", 100), ("service", 1_000), ("urgent", 10_000)]


@dataclass(frozen=True)
class Live:
    kubeconfig: Path
    address: str  # with the token

    @property
    def port(self) -> int:
        found = urllib.parse.urlsplit(self.address).port
        assert found is not None
        return found

    @property
    def site(self) -> str:
        return self.address.partition("#")[0]

    def api(self, path: str) -> Any:
        token = self.address.partition("token=")[2]
        headers = {"Authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"{self.site}api/{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)


@contextmanager
def live(*flags: str) -> Iterator[Live]:
    """It must end well."""
    with process_of(*flags) as process:
        assert process.stdout is not None
        try:
            kubeconfig = kubeconfig_in(process.stdout)
            yield Live(kubeconfig, page_in(process.stdout))
        finally:
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, told
        assert "Traceback" not in told


def page_in(lines: Iterator[str]) -> str:
    for line in lines:
        if found := re.search(r"page: (http://127\.0\.0\.1:\d+/page/#token=\S+)", line):
            return found[1]
    raise AssertionError("reprieve up ended before it said where its page is")


def classes() -> list[Json]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in CLASSES
    ]
