"""Browser fixtures: one app with a fake pair, one Chromium, a fresh context per test that must stay silent.

Every page fails its test on a page error, a console error or a request that leaves the app.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
sys.path.insert(0, str(Path(__file__).parent))

from fake_pair import PATIENCE, FakePair

from sdiff.request import Request
from sdiff.trace import Trace

if TYPE_CHECKING:
    from playwright.sync_api import Locator

FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
).split()
MADE = Request("Tell me about the lighthouse keeper.", leniency=0.3, seed=7)  # the run on the stage, and so the controls at first
READY = "() => document.querySelector('#player .sd') && !document.querySelector('#early') && window.__gradio_session_hash__"


def type_when_settled(box: Locator, text: str) -> None:
    """Fill a box of an accordion that just opened: Gradio sets what it holds once more, over what is typed in its first instant."""
    for _ in range(5):
        box.page.wait_for_timeout(PATIENCE * 150)
        if box.input_value() == text:
            return
        box.fill(text)
        box.press("Tab")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def find_chromium() -> str | None:
    """A system Chromium or Chrome; None leaves the choice to Playwright."""
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and (path := shutil.which(name)):
            return path
    return None


@pytest.fixture(scope="session")
def chromium():
    reason = "no browser: set CHROMIUM, install Chromium or Chrome, or run `playwright install chromium`"
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("playwright is not installed")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        except Error as error:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{reason} ({error.message.splitlines()[0]})")
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def fake() -> FakePair:
    return FakePair()


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one recorded run; it has rejections, leniency, replacements and a bonus."""
    folder = tmp_path_factory.mktemp("recorded")
    trace = Trace()
    for _ in trace.record(FakePair().stream(MADE)):
        pass
    (folder / "first.json").write_text(trace.to_json(), encoding="utf-8")
    return folder


@pytest.fixture
def trace(recorded: Path) -> Trace:
    """The run on the stage."""
    return Trace.from_json((recorded / "first.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("SDIFF_PICTURES") or tmp_path_factory.mktemp("pictures"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., str]]:
    """serve(load, folder) -> address of an app of its own; closed at the end of the session."""
    from sdiff.ui.engine import Engine
    from sdiff.ui.page import build, launch

    open_apps = []

    def start(load: Callable, folder: Path) -> str:
        demo = build(Engine(load).start(), folder)
        open_apps.append(demo)
        return launch(demo, "127.0.0.1", free_port(), prevent_thread_lock=True, quiet=True).rstrip("/")

    yield start
    for demo in open_apps:
        demo.close()


@pytest.fixture(scope="session")
def app(serve: Callable[..., str], fake: FakePair, recorded: Path) -> str:
    return serve(lambda progress: fake, recorded)


@pytest.fixture
def visit(chromium) -> Iterator[Callable]:
    """visit(url, **context) -> a ready page of its own; problems are collected and checked after the test."""
    contexts, problems = [], []

    def leaves(url: str, root: str) -> bool:
        return not url.startswith((root, "data:", "blob:"))

    def opened(url: str, wait: bool = True, before: Callable = lambda page: None, excused: str = "AbortError", **options):
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda e: problems.append(f"page error: {e}"))
        page.on("console", lambda m: problems.append(f"console: {m.text}") if m.type == "error" and excused not in m.text else None)
        page.on("request", lambda r: problems.append(f"external: {r.url}") if leaves(r.url, url.split("?")[0]) else None)
        before(page)
        page.goto(url, wait_until="load" if wait else "commit")
        if wait:
            page.wait_for_function(READY)
        return page

    yield opened
    for context in contexts:
        context.close()
    real = [p for p in problems if "AbortError" not in p and "ERR_ABORTED" not in p and "status of 503" not in p]  # a test's own refusal
    assert not real, real


@pytest.fixture
def page(visit: Callable, app: str):
    return visit(app)
