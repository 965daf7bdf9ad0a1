"""The personal sweep on the page: waits in line like any run, tells how far it is, stops when asked. Refuses to know Gradio.

One at a time: it is offered only where the page serves one person. It holds the first place of the line while it measures, so that
no run disturbs the timings; a thread waits for the decoder meanwhile, and the event loop only looks at its progress now and then.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio

from sdiff.ui import strings
from sdiff.ui.engine import Engine, LineFull
from sdiff.ui.frontier_data import sentence

POLL_SECONDS = 0.5
MINUTES = (1.0, 60.0)
Told = tuple[str, str]  # tone, sentence


class Job(threading.Thread):
    """One measurement through the engine; `progress` is there once the decoder has begun."""

    def __init__(self, engine: Engine, folder: Path, task: str, minutes: float) -> None:
        super().__init__(name="measure", daemon=True)
        self.engine, self.folder, self.task, self.minutes = engine, folder, task, minutes
        self.progress: Any = None
        self.whole, self.error, self.stopped = False, "", False

    def run(self) -> None:
        try:
            self.whole = self.engine.lend(self._measure)
        except Exception as error:  # a full disk, an unreadable folder, a model that fails: the page says so and goes on
            self.error = str(error) if isinstance(error, OSError) else sentence(error)

    def _measure(self, pair: Any) -> bool:
        from sdiff.bench.personal import Progress, measure  # torch: loaded by now, since the pair is

        self.progress = Progress(self.minutes)
        self.progress.stop = self.stopped  # after it can be seen: a stop at this very moment reaches it either way
        return measure(pair, self.folder, self.task, self.progress)

    def stop(self) -> None:
        """It ends within one denoising step."""
        self.stopped = True
        if self.progress:
            self.progress.stop = True

    def told(self) -> Told:
        """How far it is, or how it ended."""
        runs, task = self.progress.runs if self.progress else 0, strings.FRONTIER_TASKS[self.task]
        if self.error:
            return "bad", strings.MEASURE["failed"].format(error=self.error)
        if self.is_alive():
            if not (self.progress and self.progress.planned):
                return "busy", strings.MEASURE["starting"]
            left = self.progress.seconds_left()
            shown = f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
            return "busy", strings.MEASURE["running"].format(task=task, runs=runs, planned=self.progress.planned, left=shown)
        ended = "stopped" if self.stopped else "timeUp" if self.progress and self.progress.over and not self.whole else "done"
        failed = len(self.progress.failed) if self.progress else 0
        more = strings.MEASURE["leftOut"].format(n=failed) if failed else ""
        return "good", strings.MEASURE[ended].format(task=task, runs=runs) + more


class Sweep:
    """Measures through an engine into `folder`, one sweep at a time."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine, self.folder = engine, folder
        self._job: Job | None = None

    def stop(self) -> None:
        """Ask the sweep to end, whether it waits or measures."""
        if self._job:
            self._job.stop()

    async def run(self, task: str, minutes: Any) -> AsyncGenerator[Told, None]:
        """Wait in line, then measure; sentences for the status line. Closing it stops the sweep and waits for its step."""
        if isinstance(minutes, bool) or not isinstance(minutes, int | float) or not MINUTES[0] <= minutes <= MINUTES[1]:
            yield "bad", strings.MEASURE["minutes"]
            return
        if self._job:
            yield "bad", strings.MEASURE["busy"]
            return
        try:
            ticket = self.engine.waiting.join()
        except LineFull:
            yield "bad", strings.LINE_FULL
            return
        job = self._job = Job(self.engine, self.folder, task, float(minutes))
        try:
            while (told := self._wait(ticket)) is not None:
                yield told
                if job.stopped or self.engine.error:
                    yield ("good", strings.MEASURE["stopped"].format(runs=0)) if job.stopped else self.engine.status()
                    return
                await anyio.sleep(POLL_SECONDS)
            job.start()
            while job.is_alive():
                yield job.told()
                await anyio.sleep(POLL_SECONDS)
            yield job.told()
        finally:
            job.stop()
            if job.ident is not None:
                with anyio.CancelScope(shield=True):  # waits for the step in progress, off the event loop
                    await anyio.to_thread.run_sync(job.join)
            self.engine.waiting.leave(ticket)
            self._job = None

    def _wait(self, ticket: object) -> Told | None:
        if ahead := self.engine.waiting.ahead(ticket):
            return "busy", strings.MEASURE["waiting"].format(ahead=ahead)
        if not self.engine.ready:
            return "busy", strings.WAITING_MODEL.format(what=self.engine.what)
        return None
