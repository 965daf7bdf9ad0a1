"""Runs Python that a model wrote, in a process of its own that may compute and nothing else. Refuses to know what the program is for.

For the benchmark and for training only: the app never imports it. A program gets an empty working folder and an empty environment, is
allowed no other process, no network and no file outside the Python library and that folder, and is cut off at its `Limits`. What enforces
this, and what it leaves open where Linux's layers are missing, stands in `sdiff.tasks.confinement`; `layers` tells what holds here.
"""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LAUNCHER = Path(__file__).with_name("confinement.py")
READY = b"\n"  # the launcher's first byte on standard output
ENVIRONMENT = {"PYTHONHASHSEED": "0"}  # sets print alike in every run; the launcher clears it
START = 30.0  # seconds that a new interpreter may take until it is locked up, on a busy machine
TICK = 0.05  # seconds between two looks at the working folder


@dataclass(frozen=True)
class Limits:
    """`seconds` of wall clock from the program's first line, and of processor time, rounded up; the others in bytes.

    `memory`: address space. `file_size`: of one file. `folder_size`: of the working folder, give or take what is written in TICK.
    `output`: of standard output, and again of standard error.
    """

    seconds: float = 3.0
    memory: int = 256 << 20
    file_size: int = 1 << 20
    folder_size: int = 16 << 20
    output: int = 64 << 10


@dataclass(frozen=True)
class Outcome:
    """How a run ended. `code`: the exit status, −n after signal n. `seconds`: wall clock without the interpreter's start.

    `status`: "ok" (exit status 0, which a program can also reach by leaving early: who needs its end asks for a secret last line),
    "error", "timeout", "memory" (uncaught MemoryError), "output" or "folder" (too much of it).
    """

    status: str
    stdout: str
    stderr: str
    code: int
    seconds: float

    @property
    def sentence(self) -> str:
        """The outcome for a person."""
        if self.status == "error":
            lines = self.stderr.strip().splitlines()
            if self.code < 0:
                return f"The program was stopped by signal {signal.Signals(-self.code).name}."
            return f"The program stopped with {lines[-1][:200]}." if lines else f"The program stopped with exit status {self.code}."
        return {
            "ok": f"The program ran to its end in {self.seconds:.2f} s.",
            "timeout": f"The program was still running after {self.seconds:.1f} s.",
            "memory": "The program wanted more memory than it may have.",
            "output": "The program printed more than it may.",
            "folder": "The program wrote more files than it may.",
        }[self.status]


LIMITS = Limits()


def layers() -> tuple[str, ...]:
    """The layers that hold on this machine, strongest last: of "limits", "audit hook", "landlock", "seccomp". Empty: `run` will refuse."""
    if os.name != "posix":
        return ()
    from sdiff.tasks import confinement

    kernel = {"landlock": confinement.landlock_version() > 0, "seccomp": confinement.has_seccomp()}
    return ("limits", "audit hook", *(name for name, there in kernel.items() if there))


def run(program: str, *, stdin: str = "", limits: Limits = LIMITS) -> Outcome:
    """Run a program to its end or its limits. Raises OSError on Windows, RuntimeError where the sandbox could not be set up."""
    if os.name != "posix":
        raise OSError("The sandbox needs Linux or macOS")
    with tempfile.TemporaryDirectory(prefix="sandbox-", ignore_cleanup_errors=True) as folder:
        folder = os.path.realpath(folder)
        with start(program, stdin, folder, limits) as process:
            try:
                return Watch(process, folder, limits).outcome()
            finally:
                kill(process)


def start(program: str, stdin: str, folder: str, limits: Limits) -> subprocess.Popen[bytes]:
    """A new interpreter that will lock itself up and execute `program`. Text travels in nameless files: no pipe to fill, none to block."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as entry:
        for stream, text in ((source, program), (entry, stdin)):
            stream.write(text.encode("utf-8", "surrogatepass"))
            stream.seek(0)
        numbers = (source.fileno(), math.ceil(limits.seconds), limits.memory, limits.file_size)
        return subprocess.Popen(
            [sys.executable, "-s", "-S", "-P", "-B", "-X", "utf8", str(LAUNCHER), folder, *map(str, numbers)],
            stdin=entry, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=(source.fileno(),),
            cwd=folder, env=ENVIRONMENT, start_new_session=True,
        )  # fmt: skip


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole group, also when its leader is gone: where seccomp is missing, root could have left a child behind."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


class Watch:
    """Reads what one process prints until it ends, or until a limit is passed; never keeps more than the limit of output."""

    def __init__(self, process: subprocess.Popen[bytes], folder: str, limits: Limits) -> None:
        self.process, self.folder, self.limits = process, folder, limits
        self.stdout, self.stderr = bytearray(), bytearray()
        self.began: float | None = None
        self.deadline = time.monotonic() + START

    def outcome(self) -> Outcome:
        """Wait for the end. Raises RuntimeError if the program never began."""
        broken = self.broken_limit()
        ended = time.monotonic()
        kill(self.process)
        code = self.process.wait()
        stdout, stderr = (bytes(s[: self.limits.output]).decode(errors="replace") for s in (self.stdout, self.stderr))
        if self.began is None:
            raise RuntimeError(f"The sandbox could not be set up: {stderr.strip() or 'no answer'}")
        return Outcome(broken or status(code, stderr), stdout, stderr, code, ended - self.began)

    def broken_limit(self) -> str | None:
        """The status of the limit that the program broke; None if it ended by itself."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ, self.stdout)
            selector.register(self.process.stderr, selectors.EVENT_READ, self.stderr)
            look = time.monotonic() + TICK
            while selector.get_map():
                for key, _ in selector.select(TICK):
                    self.read(selector, key)
                now = time.monotonic()
                if max(len(self.stdout), len(self.stderr)) > self.limits.output:
                    return "output"
                if now > self.deadline:
                    return "timeout"
                if now > look:
                    look = now + TICK
                    if size(self.folder) > self.limits.folder_size:
                        return "folder"
        # Both streams are closed, by the end of the program or by the program itself.
        return None if self.ended_in_time() else "timeout"

    def ended_in_time(self) -> bool:
        try:
            self.process.wait(max(0.0, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def read(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        """Take what one stream has to offer. The launcher's READY starts the clock."""
        chunk = os.read(key.fd, 1 << 16)
        if not chunk:
            selector.unregister(key.fileobj)
        if self.began is None and key.data is self.stdout and chunk.startswith(READY):
            self.began, chunk = time.monotonic(), chunk[len(READY) :]
            self.deadline = self.began + self.limits.seconds
        key.data.extend(chunk)


def status(code: int, stderr: str) -> str:
    """The status of a program that broke none of the limits which are watched from outside."""
    if code == 0:
        return "ok"
    if code == -signal.SIGXCPU:
        return "timeout"
    return "memory" if stderr.strip().rpartition("\n")[2].startswith("MemoryError") else "error"


def size(folder: str) -> int:
    """Bytes of the files in a folder, each counted with a block of 4096 for its name. There are no folders in it."""
    total = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                total += 4096 + entry.stat(follow_symlinks=False).st_size
    return total
