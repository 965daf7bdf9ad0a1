"""Programs that try to get out, to stay, or to wear the machine down: each is stopped in time, and the caller is unharmed."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sdiff.tasks import sandbox
from sdiff.tasks.sandbox import Limits, Outcome, run, status

ROOT = Path(__file__).resolve().parent.parent
SHORT = Limits(seconds=0.5)
posix = pytest.mark.skipif(os.name != "posix", reason="the sandbox needs Linux or macOS")
linux = pytest.mark.skipif(sys.platform != "linux", reason="a layer of Linux")
IN_TIME = 4.0  # seconds until a stopped program has to be gone, on a busy machine; the limits themselves are far shorter


@pytest.fixture(autouse=True)
def unharmed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No working folder and no open file is left in the caller."""
    place = tmp_path_factory.mktemp("place")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    before = len(os.listdir("/dev/fd")) if os.name == "posix" else 0
    yield
    assert list(place.iterdir()) == []
    assert os.name != "posix" or len(os.listdir("/dev/fd")) <= before


def bounded(program: str, limits: Limits = SHORT, stdin: str = "") -> Outcome:
    start = time.monotonic()
    outcome = run(program, stdin=stdin, limits=limits)
    assert time.monotonic() - start < IN_TIME + limits.seconds
    assert max(len(outcome.stdout.encode()), len(outcome.stderr.encode())) <= 3 * limits.output  # a stray byte becomes three
    assert outcome.sentence.endswith(".")
    assert "\n" not in outcome.sentence
    return outcome


def refused(program: str, limits: Limits = SHORT) -> None:
    """Every line of `program` raises, and its effect is a line on standard output that must not appear."""
    outcome = bounded(program, limits)
    assert "escaped" not in outcome.stdout
    assert outcome.status == "error", outcome


# --- what works ---


@posix
def test_a_program_computes():
    outcome = bounded("n = int(input())\nprint(n * n)", stdin="12\n")
    assert (outcome.status, outcome.stdout, outcome.stderr, outcome.code) == ("ok", "144\n", "", 0)
    assert outcome.sentence.startswith("The program ran to its end")


@posix
def test_the_usual_modules_work():
    program = """
import bisect, collections, copy, dataclasses, datetime, decimal, enum, fractions, functools, hashlib, heapq, itertools, json, math
import operator, random, re, statistics, string, tempfile, textwrap, threading, time, typing

@dataclasses.dataclass(order=True)
class Point:
    x: int
    tags: typing.List[str] = dataclasses.field(default_factory=list)

assert __name__ == "__main__" and math.isqrt(17) == 4 and re.findall(r"\\d+", "a1b22") == ["1", "22"]
assert collections.Counter("aab").most_common(1) == [("a", 2)] and list(itertools.accumulate([1, 2, 3])) == [1, 3, 6]
assert functools.lru_cache(lambda n: n)(3) == 3 and Point(1) < Point(2) and json.loads(json.dumps({"a": [1]})) == {"a": [1]}
assert string.ascii_lowercase[0] == "a" and random.Random(1).randrange(10) in range(10)
assert datetime.date(2024, 2, 28) + datetime.timedelta(days=2) == datetime.date(2024, 3, 1)
assert heapq.nsmallest(2, [3, 1, 2]) == [1, 2] and bisect.bisect([1, 3], 2) == 1 and typing.get_type_hints(Point)["x"] is int
assert hashlib.md5(b"a").hexdigest().startswith("0cc1") and decimal.Decimal("0.1") * 3 == decimal.Decimal("0.3")
assert statistics.mean([1, 2, 3]) == 2 and fractions.Fraction(1, 3) * 3 == 1 and copy.deepcopy([1]) == [1]
with open("notes.txt", "w") as stream:
    print("kept", file=stream)
assert open("notes.txt").read() == "kept\\n"
time.sleep(0.01)
thread = threading.Thread(target=print, args=("ß",))
thread.start()
thread.join()
exit()
"""
    outcome = bounded(program, Limits())
    assert (outcome.status, outcome.stdout) == ("ok", "ß\n"), outcome


@posix
def test_it_starts_fast():
    times = []
    for _ in range(5):
        start = time.perf_counter()
        assert run("print(1)").status == "ok"
        times.append(time.perf_counter() - start)
    assert min(times) < 0.5, "about 40 ms on an idle machine"


@posix
def test_sets_print_alike_in_every_run():
    program = "print({'a', 'b', 'c', 'd', 'e'})"
    assert bounded(program).stdout == bounded(program).stdout


# --- what goes wrong by itself ---


@posix
@pytest.mark.parametrize(
    ("program", "last"),
    [
        ("x = (", "SyntaxError: '(' was never closed"),
        ("print(1)\0", "null bytes"),  # a ValueError before Python 3.11.4
        ("print('\udc80')", "SyntaxError"),
        ("(" * 5000, "SyntaxError"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import numpy", "ModuleNotFoundError: No module named 'numpy'"),
        ("def f(): f()\nf()", "RecursionError"),
    ],
)
def test_errors(program: str, last: str):
    outcome = bounded(program)
    assert outcome.status == "error"
    final = outcome.stderr.strip().splitlines()[-1]
    assert final.startswith(last) or final.endswith(last)
    assert "confinement.py" not in outcome.stderr


@posix
def test_exit_statuses():
    assert bounded("import sys; sys.exit(3)").code == 3
    early = bounded("import os\nprint('seen', flush=True)\nos._exit(0)\nprint('unseen')")
    assert (early.status, early.stdout) == ("ok", "seen\n"), "an early end is told by what was not printed"
    assert bounded("import os; os.abort()").status == "error"


@posix
@pytest.mark.parametrize("body", ["f(n + 1)", "[n].sort(key=lambda _: f(n + 1))", "repr(deep)"])
def test_deep_recursion(body: str):
    program = f"import sys\nsys.setrecursionlimit(10**9)\ndeep = []\nfor _ in range(10**6): deep = [deep]\ndef f(n): {body}\nf(0)"
    assert bounded(program, Limits(seconds=1)).status in ("error", "memory", "timeout")


@posix
def test_output_that_is_not_text():
    outcome = bounded(r"import sys; sys.stdout.buffer.write(b'a\xff\0b')")
    assert (outcome.status, outcome.stdout) == ("ok", "a\ufffd\0b")


# --- what never ends ---


@posix
@pytest.mark.parametrize(
    "program",
    [
        "while True: pass",
        "import time; time.sleep(1000)",
        "input_ = iter(int, 1)\nsum(input_)",
        "while True:\n try:\n  while True: pass\n except BaseException: pass",
        "import signal\nfor s in range(1, 32):\n try: signal.signal(s, signal.SIG_IGN)\n except OSError: pass\nwhile True: pass",
        "import os, time\nos.close(1); os.close(2); time.sleep(1000)",
        "import threading\nfor _ in range(3): threading.Thread(target=lambda: sum(iter(int, 1))).start()",
    ],
)
def test_the_wall_clock(program: str):
    outcome = bounded(program)
    assert outcome.status == "timeout"
    assert 0.4 < outcome.seconds < 3


@posix
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_printing_without_end(stream: str):
    outcome = bounded(f"import sys\nwhile True: sys.{stream}.write('x' * 100)", Limits(seconds=3))
    assert outcome.status == "output"
    assert len(getattr(outcome, stream)) == Limits().output
    assert outcome.seconds < 2, "stopped at the limit, not at the end of its time"


@posix
def test_closing_standard_output():
    assert bounded("import sys; sys.stdout.close(); sys.stderr.close()").status == "ok"
    assert bounded("import os; os.close(1); os.close(2); os._exit(4)").code == 4


@linux
@pytest.mark.parametrize("program", ["x = bytearray(10 * 10**9)", "x = []\nwhile True: x.append(bytearray(10**6))"])
def test_ten_gigabytes(program: str):
    assert bounded(program, Limits(seconds=3)).status == "memory"


# --- what wears the disk down ---


@posix
def test_a_huge_file():
    refused("f = open('big', 'wb')\nfor _ in range(1000): f.write(b'x' * 10**6)\nf.flush()\nprint('escaped')")
    refused("open('big', 'wb').truncate(10**12)\nprint('escaped')")


@posix
def test_many_files():
    outcome = bounded("n = 0\nwhile True:\n open(str(n), 'w').write('x' * 10**6)\n n += 1", Limits(seconds=3))
    assert outcome.status == "folder"


@posix
@pytest.mark.parametrize(
    "line",
    [
        "shutil.rmtree(os.getcwd())",
        "os.rmdir(os.getcwd())",
        "os.chmod(os.getcwd(), 0)",
        "os.mkdir('inner')",
        "os.symlink('/', 'all')",
        "os.rename(os.getcwd(), '/tmp/moved')",
    ],
)
def test_the_folder_cannot_be_removed_or_changed(line: str):
    refused(f"import os, shutil\nopen('file', 'w').close()\n{line}\nprint('escaped')")


@posix
@pytest.mark.parametrize("vanish", [lambda folder: os.rmdir(folder), lambda folder: os.chmod(folder, 0)], ids=["removed", "unreadable"])
def test_a_folder_that_is_gone_or_unreadable_all_the_same(vanish, monkeypatch: pytest.MonkeyPatch):
    start = sandbox.start

    def started(program: str, stdin: str, folder: str, limits: Limits):
        process = start(program, stdin, folder, limits)
        time.sleep(0.3)  # it is asleep by now
        vanish(folder)
        return process

    monkeypatch.setattr(sandbox, "start", started)
    assert bounded("import time; time.sleep(0.5); print('end')", Limits(seconds=2)).status in ("ok", "error")


# --- what it must not see or reach ---


@posix
@pytest.mark.parametrize("path", ["/etc/passwd", str(Path(__file__)), str(ROOT / "README.md"), str(Path.home()), "/proc/self/environ", "/"])
def test_reading_outside(path: str):
    for attempt in (
        f"print('escaped', open({path!r}).read(1))",
        f"import os; print('escaped', os.read(os.open({path!r}, os.O_RDONLY), 1))",
        f"import os; print('escaped', os.listdir({path!r}))",
    ):
        refused(attempt)


@posix
def test_writing_outside(tmp_path: Path):
    victim = tmp_path / "victim"
    victim.write_text("here")
    for line in (
        f"open({str(victim)!r}, 'w')",
        f"os.remove({str(victim)!r})",
        f"os.truncate({str(victim)!r}, 0)",
        f"open('{tmp_path}/new', 'w')",
    ):
        refused(f"import os\n{line}\nprint('escaped')")
    assert victim.read_text() == "here"
    assert [p.name for p in tmp_path.iterdir()] == ["victim"]


@posix
def test_the_environment_is_empty(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET", "token")
    assert bounded("import os; print(dict(os.environ), os.getenv('SECRET'), os.listdir('.'))").stdout == "{} None []\n"


@posix
@pytest.mark.parametrize(
    "line",
    [
        "socket.socket(); print('escaped')",
        "socket.socketpair(); print('escaped')",
        "socket.create_connection(('127.0.0.1', 9)); print('escaped')",
        "urllib.request.urlopen('http://127.0.0.1:9'); print('escaped')",
        "import ctypes; print('escaped')",
    ],
)
def test_no_network(line: str):
    refused(f"import socket, urllib.request\n{line}", Limits(seconds=2))


@posix
@pytest.mark.parametrize(
    "line",
    [
        "while True: os.fork()",
        "[multiprocessing.Process(target=print, args=('escaped',)).start() for _ in range(100)]",
        "multiprocessing.get_context('spawn').Process(target=print).start(); print('escaped')",
        "subprocess.run(['echo', 'escaped'])",
        "subprocess.Popen(['sleep', '60'], start_new_session=True); print('escaped')",
        "os.system('echo escaped')",
        "os.execv('/bin/echo', ['echo', 'escaped'])",
        "os.posix_spawn('/bin/echo', ['echo', 'escaped'], {})",
    ],
)
def test_no_other_process(line: str):
    refused(f"import multiprocessing, os, subprocess\n{line}", Limits(seconds=2))


@posix
@pytest.mark.parametrize("line", ["os.kill(os.getppid(), 9)", "os.kill(-1, 9)", "os.killpg(os.getppid(), 9)", "os.kill(os.getppid(), 0)"])
def test_no_signals(line: str):
    refused(f"import os\n{line}\nprint('escaped')")


@posix
def test_a_child_left_behind_is_dead_afterwards(tmp_path: Path):
    """Should every layer that forbids processes fail: the whole group dies with the run."""
    script = tmp_path / "open_door.py"
    script.write_text(
        "import os, sys, time\nos.write(1, b'\\n')\nchild = os.fork()\nif child:\n print(child, flush=True)\n os._exit(0)\n"
        "os.close(1); os.close(2); time.sleep(60)"
    )
    launcher, sandbox.LAUNCHER = sandbox.LAUNCHER, script
    try:
        child = int(bounded("").stdout)
    finally:
        sandbox.LAUNCHER = launcher
    deadline = time.monotonic() + 5
    while alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive(child)


def alive(process: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


# --- the kernel's layers without the audit hook before them ---


def behind(layer: str, program: str) -> subprocess.CompletedProcess[str]:
    """Python behind one layer alone. Each line of `program` must raise what Python makes of a refusal."""
    tries = "".join(
        f"try:\n    {line}\n    print('escaped', {line!r})\nexcept (OSError, ValueError): pass\n" for line in program.splitlines()
    )
    text = f"import os, socket, signal, threading\nfrom sdiff.tasks import confinement\nconfinement.{layer}\n{tries}print('end')"
    return subprocess.run([sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)


@linux
@pytest.mark.skipif("landlock" not in sandbox.layers(), reason="this kernel has no Landlock")
def test_landlock_alone(tmp_path: Path):
    program = (
        "open('/etc/passwd')\nos.listdir('/')\nopen('/proc/self/environ')\nos.execv('/bin/echo', ['echo', 'escaped'])\n"
        f"open('README.md')\nopen('/tmp/escaped', 'w')\nos.mkdir('{tmp_path}/x')\nos.rmdir('{tmp_path}')\nos.symlink('/', '{tmp_path}/x')"
    )
    prepare = (
        f"libc().prctl(confinement.NO_NEW_PRIVS, 1, 0, 0, 0); confinement.only_these_files(confinement.landlock_version(), '{tmp_path}')"
    )
    result = behind(f"{prepare}\nopen('{tmp_path}/own', 'w').write('x'); import json", program)
    assert (result.stdout, result.returncode) == ("end\n", 0), result
    assert (tmp_path / "own").read_text() == "x"


@linux
@pytest.mark.skipif("seccomp" not in sandbox.layers(), reason="this kernel or processor has no filter")
def test_seccomp_alone():
    program = (
        "os.fork()\nos.posix_spawn('/bin/echo', ['echo', 'escaped'], {})\nos.execv('/bin/echo', ['echo', 'escaped'])\n"
        "socket.socket()\nsocket.socketpair()\nos.kill(os.getppid(), 0)\nos.kill(os.getpid(), 0)\nos.mkdir('/tmp/escaped')\n"
        "os.chmod('README.md', 0o644)\nos.memfd_create('x')\nos.setpriority(os.PRIO_PROCESS, 0, 5)\nos.setuid(0)\n"
        "__import__('fcntl').fcntl(0, 8, os.getppid())\n__import__('resource').setrlimit(7, (9, 9))"
    )
    prepare = "libc().prctl(confinement.NO_NEW_PRIVS, 1, 0, 0, 0); import fcntl, resource; confinement.only_listed_calls()"
    result = behind(f"{prepare}\nt = threading.Thread(target=print, args=('thread',)); t.start(); t.join()", program)
    assert (result.stdout, result.returncode) == ("thread\nend\n", 0), result


# --- the caller ---


@linux
def test_the_program_dies_with_its_caller(tmp_path: Path):
    text = "from sdiff.tasks.sandbox import *\nprint(run('import time; time.sleep(60)', limits=Limits(seconds=50)))"
    caller = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)})
    time.sleep(1.0)
    listing = subprocess.run(["ps", "-o", "pid=", "--ppid", str(caller.pid)], capture_output=True, text=True).stdout.split()
    caller.kill()
    caller.wait()
    time.sleep(0.2)
    assert len(listing) == 1
    assert not alive(int(listing[0]))


@posix
def test_a_sandbox_that_cannot_be_set_up_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = tmp_path / "broken.py"
    script.write_text("raise OSError('no such layer')")
    monkeypatch.setattr(sandbox, "LAUNCHER", script)
    with pytest.raises(RuntimeError, match="no such layer"):
        run("print(1)")


def test_windows_is_told(monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        with pytest.raises(OSError, match="The sandbox needs Linux or macOS"):
            run("print(1)")
        assert sandbox.layers() == ()


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it, with the packages around it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("sdiff."):
            names = [node.value]  # importlib.import_module("sdiff.…")
            if node.value.endswith("."):  # … of a name put together: any module of that package
                names = [node.value + file.stem for file in ROOT.joinpath(*node.value.strip(".").split(".")).glob("*.py")]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))


def source_of(module: str) -> Path | None:
    stem = ROOT.joinpath(*module.split("."))
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


def test_the_app_cannot_import_it():
    seen: dict[str, str] = {}
    waiting = [("app", "")]
    while waiting:
        module, importer = waiting.pop()
        path = source_of(module)
        if module in seen or path is None:
            continue
        seen[module] = importer
        waiting += [(name, module) for name in imported(path)]
    assert {"sdiff.pairs", "sdiff.decode", "sdiff.ui.page"} <= set(seen), "the walk sees what the app imports"
    assert "sdiff.tasks.coding" in seen, "and what is imported by a name in a string: the page draws problems to time them"
    assert "sdiff.tasks.sandbox" in set(imported(ROOT / "sdiff" / "tasks" / "coding_grade.py"))
    for module in ("sdiff.tasks.sandbox", "sdiff.tasks.confinement", "sdiff.tasks.grading"):
        assert module not in seen, f"{module} is imported by {seen[module]}, which the app imports"


def test_processor_time_that_runs_out_before_the_clock_is_a_timeout_too():
    """The kernel's own limit may strike first: its signal says why, where an outright kill would not."""
    assert status(-signal.SIGXCPU, "") == "timeout"
    for _ in range(3):  # both limits stand at one second: either may come first
        assert bounded("while True: pass", Limits(seconds=1.0)).status == "timeout"
