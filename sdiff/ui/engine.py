"""One decoder for all visitors: knows loading and the line; refuses to know pages and Gradio.

The models load in a thread while the first screen is already up. All decoding happens on one thread of its own, so
that a run never moves between threads and two runs cannot compute at once. `Waiting` is first come, first served.
"""

from __future__ import annotations

import collections
import contextvars
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sdiff.fetch import PairError
from sdiff.request import Request
from sdiff.trace import Event
from sdiff.ui import strings
from sdiff.ui.zero import BUNDLED_SIZE, borrowing

log = logging.getLogger(__name__)
Progress = Callable[[str, float | None], None]


class LineFull(Exception):
    """More visitors are waiting than the line takes."""


class Waiting:
    """The line in front of the decoder: one run at a time, places in order of arrival."""

    def __init__(self, longest: int = 60) -> None:
        self._line: collections.deque[object] = collections.deque()
        self._lock = threading.Lock()
        self._longest = longest

    def join(self) -> object:
        ticket = object()
        with self._lock:
            if len(self._line) >= self._longest:
                raise LineFull
            self._line.append(ticket)
        return ticket

    def ahead(self, ticket: object) -> int:
        with self._lock:
            return self._line.index(ticket)

    def leave(self, ticket: object) -> None:
        with self._lock:
            if ticket in self._line:
                self._line.remove(ticket)

    def __len__(self) -> int:
        return len(self._line)


class Engine:
    """Loads a pair once in the background and streams runs from it.

    `load(progress)` returns an object with `stream(request)` and `about()`; what it raises becomes `error`. `size`: parameters of the pair, as in
    the registry, for how long a GPU is borrowed.
    """

    def __init__(self, load: Callable[[Progress], Any], size: str = BUNDLED_SIZE) -> None:
        self._load = load
        self._pair: Any = None
        self._decoder = ThreadPoolExecutor(1, "decoder")
        self.waiting = Waiting()
        self.what = strings.LOADING_START
        self.error = ""

        def stream(request: Request) -> Iterator[Event]:
            yield from self._pair.stream(request)

        self._stream = borrowing(stream, size)

    @property
    def ready(self) -> bool:
        return self._pair is not None

    def about(self) -> dict[str, Any]:
        """What the loaded pair tells of itself: verifier, drafter, noises, device, name of the device, dtype; {} before it is there."""
        return self._pair.about() if self.ready else {}

    def start(self) -> Engine:
        threading.Thread(target=self.load, name="load", daemon=True).start()
        return self

    def load(self) -> None:
        """Load the pair now; a failure becomes `error`."""
        try:
            self._pair = self._load(self._progress)
        except Exception as error:  # shown to every visitor; the page stays up with the recorded run
            log.error("loading failed: %s", error, exc_info=not isinstance(error, PairError))
            self.error = strings.said(error) or strings.UNEXPECTED.format(kind=type(error).__name__)

    def _progress(self, what: str, fraction: float | None = None) -> None:
        what = strings.said(what).rstrip(" .…")
        self.what = what if fraction is None else f"{what}, {fraction:.0%}"

    def stream(self, request: Request) -> Iterator[Event]:
        """Events of one run; closing it stops within one denoising step."""
        yield from self._stream(request)

    def work(self, function: Callable[..., Any], *args: Any) -> Any:
        """`function(*args)` on the decoder's thread; waits for the result."""
        return self._decoder.submit(contextvars.copy_context().run, function, *args).result()

    def lend(self, function: Callable[..., Any], *args: Any) -> Any:
        """`function(pair, *args)` on the decoder's thread; waits for the result. Only for who holds the first place of the line."""
        return self.work(function, self._pair, *args)

    def status(self) -> tuple[str, str]:
        """(tone, sentence) for a visitor who is not running anything."""
        if self.error:
            return "bad", strings.LOAD_FAILED.format(error=self.error.rstrip("."))
        if not self.ready:
            return "busy", strings.LOADING.format(what=self.what)
        return "good", strings.READY
