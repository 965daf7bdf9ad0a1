"""Hugging Face Spaces and ZeroGPU, whose rules are kept by a stand-in for `spaces`, made after its version 0.51.3.

Only sync generators; arguments and items that pickle, items that stay small; a forked worker that runs ahead and is used again; a scheduler that
refuses before the first item; a worker killed when its time is over; and of an exception in it nothing but the name of its class.
"""

from __future__ import annotations

import functools
import inspect
import json
import multiprocessing
import os
import pickle
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import httpx
import pytest
from browser.fake_pair import PATIENCE, FakePair
from browser.load import listener

from sdiff import trace as t
from sdiff.registry import PAIRS
from sdiff.request import LIMITS, Request, RequestError
from sdiff.sentence import Sentence
from sdiff.ui import strings
from sdiff.ui.engine import Engine
from sdiff.ui.page import build, launch
from sdiff.ui.zero import MOST_SECONDS, Failed, is_zero, seconds

ROOT = Path(__file__).parent.parent
LARGEST_ITEM = 64_000  # bytes
FORKS = multiprocessing.get_context("fork")

# ------------------------------------------------------------------------------------------------- the stand-in


def work(task: Callable, arguments: Any, results: Any, stop: Any) -> None:
    """The worker's process: one run after the other."""
    while True:
        try:
            body = arguments.recv_bytes()
        except EOFError:
            return
        stop.clear()
        items = task(*pickle.loads(body))
        try:
            for item in items:
                if stop.is_set():  # looked at once the next item is there
                    items.close()
                    break
                sent = pickle.dumps(("item", item))
                assert len(sent) < LARGEST_ITEM
                results.send_bytes(sent)
        except Exception as error:
            results.send_bytes(pickle.dumps(("failed", type(error).__name__)))
        results.send_bytes(pickle.dumps(("end", "")))


class Worker:
    def __init__(self, task: Callable) -> None:
        theirs, self.arguments = FORKS.Pipe(duplex=False)
        self.results, ours = FORKS.Pipe(duplex=False)
        self.stop = FORKS.Event()
        self.process = FORKS.Process(target=self._begin, args=(task, theirs, ours), daemon=True)
        self.process.start()
        theirs.close()
        ours.close()

    def _begin(self, task: Callable, arguments: Any, results: Any) -> None:
        self.arguments.close()  # so that it ends with its parent
        work(task, arguments, results, self.stop)

    def read(self, items: queue.Queue) -> None:
        """Everything of one run; nothing holds the worker back."""
        kind = "item"
        while kind == "item":
            try:
                kind, value = pickle.loads(self.results.recv_bytes())
            except EOFError:
                kind, value = "failed", "GPU task aborted"
            items.put((kind, value))


def error(title: str, message: str) -> gr.Error:
    return gr.Error(message, title=title, print_exception=False)


class Spaces(types.ModuleType):
    """`asked`: seconds of every run; `refusal`: what the scheduler says instead of lending; `lends`: for how many seconds, if not for those."""

    def __init__(self) -> None:
        super().__init__("spaces")
        self.asked: list[float] = []
        self.workers: list[Worker] = []
        self.refusal: Exception | None = None
        self.lends = 0.0

    def GPU(self, task: Callable | None = None, *, duration: Any = 60) -> Any:
        if task is None:
            return functools.partial(self.GPU, duration=duration)
        if not inspect.isgeneratorfunction(task):
            raise NotImplementedError("only sync generators")
        return functools.partial(self._lent, task, duration, [])

    def _lent(self, task: Callable, duration: Any, idle: list[Worker], *args: Any) -> Iterator[Any]:
        self.asked.append(time_lent := duration(*args) if callable(duration) else duration)
        if self.refusal:
            raise self.refusal
        if not (idle and idle[-1].process.is_alive()):
            self.workers.append(Worker(task))
            idle.append(self.workers[-1])
        worker, items = idle.pop(), queue.Queue()
        worker.arguments.send_bytes(pickle.dumps(args))
        clock = threading.Timer(self.lends or time_lent, worker.process.kill)
        reader = threading.Thread(target=worker.read, args=(items,))
        clock.start()
        reader.start()
        kind = "item"
        try:
            while kind == "item":
                kind, value = items.get()
                if kind == "failed":
                    raise error("ZeroGPU worker error", value)
                if kind == "item":
                    yield value
        finally:
            worker.stop.set()
            reader.join()
            clock.cancel()
            if kind != "failed":
                idle.append(worker)


@pytest.fixture
def spaces(monkeypatch) -> Iterator[Spaces]:
    module = Spaces()
    monkeypatch.setitem(sys.modules, "spaces", module)
    yield module
    for worker in module.workers:
        worker.process.kill()


class Lent(FakePair):
    """Tells on a file that a run was closed; refuses and crashes when asked to."""

    def __init__(self, closed: Path) -> None:
        super().__init__()
        self.closed = closed

    def stream(self, request: Request) -> Iterator[t.Event]:
        if "refuse" in request.prompt:
            raise RequestError(Sentence("The prompt has {n:,} tokens; this verifier reads at most {most:,}. Shorten it.", n=9, most=8))
        try:
            for event in super().stream(request):
                yield event
                if "crash" in request.prompt:
                    raise ArithmeticError("NaN")
        finally:
            self.closed.write_text("closed")


@pytest.fixture
def engine(spaces, tmp_path) -> Engine:
    engine = Engine(lambda progress: Lent(tmp_path / "closed"))
    engine.load()
    assert not spaces.workers  # whatever is loaded later, a forked worker does not see
    return engine


HELLO = Request("Hello", max_tokens=5)

# ----------------------------------------------------------------------------------------------------- the runs


def test_a_run_comes_whole_out_of_a_worker_that_is_used_again(engine, spaces):
    for request in (HELLO, replace(HELLO, plain=True), HELLO):
        assert list(engine.stream(request)) == list(FakePair().stream(request))
    assert spaces.asked == [seconds(HELLO), seconds(replace(HELLO, plain=True)), seconds(HELLO)]
    assert len(spaces.workers) == 1


def test_stopping_reaches_the_worker(engine, spaces, tmp_path):
    events = engine.stream(Request("slow", max_tokens=500))
    next(events)
    time.sleep(0.5)  # it runs ahead meanwhile
    began = time.monotonic()
    events.close()
    assert time.monotonic() - began < 10  # the run itself would last minutes
    assert (tmp_path / "closed").read_text() == "closed"
    assert list(engine.stream(HELLO)) == list(FakePair().stream(HELLO))
    assert len(spaces.workers) == 1


def test_a_refusal_in_the_worker_is_the_same_sentence_here(engine, spaces):
    with pytest.raises(RequestError) as caught:
        list(engine.stream(replace(HELLO, prompt="refuse")))
    assert caught.value.args[0].template.startswith("The prompt has {n:,} tokens")
    assert list(engine.stream(HELLO))
    assert len(spaces.workers) == 1


def test_a_worker_that_crashed_is_named_and_not_used_again(engine, spaces):
    events = engine.stream(replace(HELLO, prompt="crash"))
    next(events)
    with pytest.raises(Failed, match=r"^ArithmeticError$"):
        list(events)
    assert list(engine.stream(HELLO)) == list(FakePair().stream(HELLO))
    assert len(spaces.workers) == 2


def test_a_run_past_its_time_is_cut_off_in_words(engine, spaces):
    spaces.lends = 1.5
    with pytest.raises(RequestError, match=re.escape(strings.BORROWED["over"])):
        list(engine.stream(Request("slow", max_tokens=500)))
    spaces.lends = 0.0
    assert list(engine.stream(HELLO)) == list(FakePair().stream(HELLO))


LOGIN = "Authenticate with a Hugging Face token for more quota - https://huggingface.co/settings/tokens"
OVER_QUOTA = f"You have exceeded your ZeroGPU quota (18s requested vs. 3s left). Try again in 0:12:34. {LOGIN}"


@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        (error("ZeroGPU quota exceeded", OVER_QUOTA), "quota of GPU time is used up; there is more in 0:12:34 h. Lower the tokens"),
        (error("ZeroGPU quota exceeded", "You have exceeded your ZeroGPU runs limit. "), "quota of GPU time is used up. Lower the tokens"),
        (error("ZeroGPU quota exceeded", "No GPU was available after 60s. Try re-running outside of examples"), "No GPU is free"),
        (error("ZeroGPU client error", "No GPU was available"), "No GPU is free"),
        (error("ZeroGPU illegal duration", "The requested GPU duration (90s) is larger than the maximum allowed"), "for longer than one is lent"),
        (error("ZeroGPU client error", "Expired ZeroGPU proxy token"), r"could not be used \(Expired ZeroGPU proxy token\)"),
        (httpx.ConnectError("[Errno 111]"), r"could not be used \(ConnectError\). Try again"),
    ],
)  # fmt: skip
def test_where_no_gpu_is_lent_a_sentence_says_why_and_what_to_do(engine, spaces, refusal, says):
    spaces.refusal = refusal
    with pytest.raises(RequestError, match=says):
        next(engine.stream(HELLO))
    assert not spaces.workers


def test_the_time_asked_for_grows_with_the_work_and_stays_small():
    small = Request("", max_tokens=200, steps=2, gamma=4)
    for more in ({"max_tokens": 400}, {"steps": 8}, {"gamma": 15}, {"original": True}):
        assert seconds(replace(small, **more)) > seconds(small), more
    assert seconds(replace(small, plain=True)) < seconds(small)
    assert seconds(small, "4.0B + 0.5B") > seconds(small, "135M + 18M")
    most = Request("", **{name: int(LIMITS[name][1]) for name in ("max_tokens", "steps", "gamma")})
    for size in {entry.size for entry in PAIRS.values()}:
        assert 1 <= seconds(replace(small, max_tokens=0), size) <= seconds(small, size) <= seconds(most, size) <= MOST_SECONDS
    assert seconds(Request("")) <= 30


def test_zerogpu_is_told_from_the_environment_as_spaces_does(monkeypatch):
    for value, zero in {"1": True, "t": True, "True": True, "true": True, "0": False, "false": False, "": False, "yes": False}.items():
        monkeypatch.setenv("SPACES_ZERO_GPU", value)
        assert is_zero() is zero, value
    monkeypatch.delenv("SPACES_ZERO_GPU")
    assert not is_zero()


# ----------------------------------------------------------------------------------------------------- the page


@pytest.fixture
def url(engine) -> Iterator[str]:
    demo = build(engine)
    yield launch(demo, "127.0.0.1", None, prevent_thread_lock=True, quiet=True)
    demo.close()


def press_run(url: str, prompt: str) -> tuple[Any, str]:
    """The page's own Run, over HTTP; what stands on the stage and in the status line at the end."""
    with httpx.Client(base_url=url, timeout=120) as client:
        fn, data = listener(client.get("/config").json())
        session = {"session_hash": f"zero{time.monotonic_ns()}"}
        body = {"data": [prompt, *data[1:]], "fn_index": fn, "event_data": None, "trigger_id": None, **session}
        client.post("/gradio_api/queue/join", json=body).raise_for_status()
        with client.stream("GET", "/gradio_api/queue/data", params=session) as answer:
            for line in answer.iter_lines():
                message = json.loads(line[5:]) if line.startswith("data:") else {"msg": ""}
                if message["msg"] == "process_completed":
                    assert message["success"], message
                    stage, status, *_ = message["output"]["data"]
                    return stage, status
    raise AssertionError("the stream ended before the run")


def test_the_page_runs_on_borrowed_gpus_and_says_when_there_are_none(url, spaces):
    stage, status = press_run(url, "Hello")
    trace = t.Trace([t.from_dict(json.loads(line)) for line in stage.splitlines()[1:]])
    assert trace.end.reason == "limit"
    assert status == "good:" + strings.FINISHED["limit"].format(tokens=len(trace.tokens))
    stage, status = press_run(url, "refuse")
    assert (isinstance(stage, str), status) == (False, "bad:The prompt has 9 tokens; this verifier reads at most 8. Shorten it.")
    stage, status = press_run(url, "crash")
    assert strings.UNEXPECTED.format(kind="ArithmeticError") in status
    assert '"kind":"run"' in stage
    spaces.refusal = error("ZeroGPU quota exceeded", OVER_QUOTA)
    stage, status = press_run(url, "Hello")
    assert (isinstance(stage, str), status) == (False, "bad:" + strings.BORROWED["quota"].format(again="; there is more in 0:12:34 h"))
    spaces.refusal = None
    assert press_run(url, "Hello")[1].startswith("good:")
    assert len(spaces.workers) == 2


START_CPU_SECONDS = 10 * PATIENCE  # of one core, until the first page was answered; measured: 6 on a shared one


def test_the_first_screen_is_there_soon_and_without_torch():
    program = (
        "import sys, time, httpx; from sdiff.ui.engine import Engine; from sdiff.ui.page import build, launch\n"
        "url = launch(build(Engine(lambda progress: None)), '127.0.0.1', None, prevent_thread_lock=True, quiet=True)\n"
        "print(httpx.get(url, timeout=60).status_code, 'torch' in sys.modules, 'spaces' in sys.modules, time.process_time())"
    )
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=300)
    status, torch, module, spent = result.stdout.split()
    assert (status, torch, module) == ("200", "False", "False"), result.stderr
    assert float(spent) < START_CPU_SECONDS


# ---------------------------------------------------------------------------------------------------- the Space


def test_the_front_matter_is_whole():
    import yaml  # Gradio's

    front = yaml.safe_load((ROOT / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert front["title"] == strings.load("en")["TITLE"]
    assert (front["sdk"], front["license"]) == ("gradio", "apache-2.0")
    assert f"gradio=={front['sdk_version']}" in (ROOT / "requirements.txt").read_text(encoding="utf-8").split()
    assert front["python_version"] in ("3.10", "3.12")  # ZeroGPU has no other
    assert tuple(map(int, front["python_version"].split("."))) >= (3, 11)
    assert (ROOT / front["app_file"]).is_file()
    assert 0 < len(front["short_description"]) <= 60
    assert {front["colorFrom"], front["colorTo"]} <= {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert front["emoji"].strip()
    assert front["tags"]
    assert front["models"]
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+", name) for name in front["models"])


def listing(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.mark.model
def test_the_app_decodes_on_zerogpu_and_writes_to_its_cache_only(tmp_path):
    """Also: a plain token is not timed where there is no GPU yet."""
    from gradio_client import Client
    from real import real

    from sdiff.fetch import cache_folder

    real()  # fetched, or skipped
    tree, home, temporary, modules = (tmp_path / name for name in ("tree", "home", "temporary", "modules"))
    for folder in (home, temporary, modules):
        folder.mkdir()
    (modules / "spaces.py").write_text("import sys, test_zero\nsys.modules['spaces'] = zero = test_zero.Spaces()\nzero.lends = 600\n")
    for part in ("sdiff", "precomputed"):
        shutil.copytree(ROOT / part, tree / part, ignore=shutil.ignore_patterns("__pycache__", "unfinished", "corpus", "pictures"))
    shutil.copy(ROOT / "app.py", tree)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "HF_", "GRADIO_"))}
    env |= {"HOME": str(home), "TMPDIR": str(temporary), "SDIFF_CACHE": str(cache_folder()), "SPACES_ZERO_GPU": "true"}
    env |= {"PYTHONPATH": f"{modules}:{Path(__file__).parent}", "PYTHONDONTWRITEBYTECODE": "1"}
    before = {folder: listing(folder) for folder in (tree, home, temporary)}
    with subprocess.Popen([sys.executable, "app.py", "--device", "cpu"], cwd=tree, env=env, stdout=subprocess.PIPE, text=True) as app:
        try:
            address = next((line.split(": ")[-1].strip() for line in app.stdout if "http" in line), "")
            answer = Client(address, verbose=False).predict("Name three colours.", {"max_tokens": 8}, api_name="/decode")
        finally:
            app.terminate()
    assert answer["text"]
    assert "plain_ms" not in answer["machine"]
    assert {folder: listing(folder) for folder in before} == before
