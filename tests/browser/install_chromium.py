"""Puts a Chromium on the machine: the one that it has, or else Debian's package.

Where neither can be had it says so and fails, so that no test is ever passed over for want of one.
"""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Without a font every letter is a box; the second one has the signs that the first lacks.
PACKAGES = ("chromium", "fonts-inter", "fonts-dejavu-core")


def chromium() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name)) is not None), None)


def installed() -> bool:
    """Whether Debian's package could be had. Only root may try."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-qq", "-y", "--no-install-recommends", *PACKAGES]
    for command in (["apt-get", "update", "-qq"], install):
        done = subprocess.run(command, env=quietly, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode:
            print(done.stderr.strip(), file=sys.stderr)
            return False
    return chromium() is not None


def main() -> int:
    if chromium() is not None:
        return 0
    print("putting chromium on this machine with apt-get")
    if installed():
        return 0
    print(
        f"no browser: none of {', '.join(NAMES)} is on the PATH, and apt-get cannot install one here "
        "(it needs Debian or Ubuntu, root, and a mirror); the browser tests need one",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
