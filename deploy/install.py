"""Installs what a lock pins into the environment of this interpreter, and shows how far it is.

Only the standard library is there yet. On a terminal one line is drawn again and again; elsewhere two are
written. What pip says is shown if it fails.
"""

import subprocess
import sys
import time
from pathlib import Path


def main(lock: Path) -> int:
    packages = sum("==" in line for line in lock.read_text().splitlines())
    began, found, lines = time.monotonic(), 0, list[str]()
    print(f"installing the {packages} packages of {lock} into {Path(sys.prefix).name}", flush=True)
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    with subprocess.Popen(
        # The lock names everything. Left to itself, pip looks for the newest coverage[toml], which the lock
        # pins as coverage, and refuses it as soon as there is a newer release.
        [*command, "--require-hashes", "--no-deps", "-r", str(lock)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            match line.split():
                case ["Collecting" | "Requirement", *words] if words:
                    found += 1
                    name = next(word for word in words if "=" in word).partition("=")[0]
                    draw(f"  {found} of {packages}: {name}")
                case ["Installing", "collected", *_]:
                    draw("  unpacking")
    draw("")
    if process.returncode:
        sys.stderr.writelines(lines)
        return process.returncode
    print(f"installed in {time.monotonic() - began:.0f} s", flush=True)
    return 0


def draw(text: str) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(f"\r\x1b[K{text}")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
