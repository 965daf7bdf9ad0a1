"""The page: layout and events. Knows Gradio; leaves runs to live.py and pictures to the player."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import gradio as gr
from starlette.middleware import Middleware

from sdiff.registry import BUNDLED, PAIRS
from sdiff.request import KNOBS, MAX_PROMPT_CHARACTERS, PROPOSALS, SLIDERS, Request, RequestError, is_lossless
from sdiff.ui import strings
from sdiff.ui.api import offer
from sdiff.ui.assets import read
from sdiff.ui.components import QUIET, line, numbers_table, player, tour
from sdiff.ui.early import Early
from sdiff.ui.engine import Engine
from sdiff.ui.frontier_view import Frontier, build_frontier
from sdiff.ui.guard import Guard
from sdiff.ui.key_view import build_key
from sdiff.ui.link_view import LinkBoxes, build_link, wire_links
from sdiff.ui.live import POLL_SECONDS, Update, Visitors
from sdiff.ui.pair_view import build_pair, other_pairs
from sdiff.ui.race_view import run_race
from sdiff.ui.recordings import RECORDED
from sdiff.ui.recordings_view import NOTHING_SAID, build_track, chooser, failures, played, recording, wire_recordings
from sdiff.ui.theory_view import build_theory

WEIGHED = ("noise", "steps", "leniency", "rule", "proposal", "gamma")  # the settings that decide losslessness
RECORDING_NOTE = {"busy": strings.PLAYS_MEANWHILE, "bad": strings.STAYS_USABLE}
STARTERS = 3  # buttons that start something: run, plain, race


def _enable(*states: bool) -> str:
    """JavaScript that enables or disables the listener's outputs, which are buttons."""
    return f"() => [{', '.join(f'{{__type__: `update`, interactive: {json.dumps(state)}}}' for state in states)}]"


BUSY, IDLE = _enable(*[False] * STARTERS), _enable(*[True] * STARTERS, False)
REFUSED = IDLE.replace("]", f", {json.dumps('bad:' + strings.REFUSED)}]")


def build(engine: Engine, folder: Path = RECORDED, measure: bool = False, pair: str = BUNDLED) -> gr.Blocks:
    """The whole page for one engine. `folder` holds the recorded runs; `measure`: offer the sweep of this machine (for one person); `pair`: the
    registry's name of the models in use. What is stored was measured with the bundled ones, so others have no frontier here."""
    trace, figures, made, problem = recording(folder)
    visitors = Visitors(engine)
    with gr.Blocks(title=strings.TITLE, analytics_enabled=False, delete_cache=(3600, 3600)) as demo:
        with gr.Row(elem_id="top"):
            with gr.Column(elem_id="about"):
                gr.Markdown(f"# {strings.TITLE}\n\n{strings.TAGLINE}", elem_id="intro")
                build_pair(demo, engine, pair)
            tour(elem_id="tour")
        asked = line(elem_id="asked")
        with gr.Row(elem_id="columns"):
            with gr.Column(elem_id="controls"):
                begin = {"prompt": next(iter(strings.EXAMPLES.values())), **made}
                controls, (run, plain, stop), (loading, status), notes, link = _controls(begin, PAIRS[pair].noises)
                other_pairs(pair)
            with gr.Tabs(elem_id="views") as views:
                with gr.Tab(strings.VIEWS["live"], id="live"):
                    chosen = chooser(folder)
                    stage = player(trace, elem_id="player")
                    table = numbers_table(figures, elem_id="numbers")
                with gr.Tab(strings.VIEWS["race"], id="race"):
                    start_race = gr.Button(strings.RACE_RUN, elem_id="start-race")
                    track = build_track(folder / "race")
                with gr.Tab(strings.VIEWS["frontier"], id="frontier"):
                    front = build_frontier(engine, measure) if pair == BUNDLED else None
                    if front is None:
                        gr.Markdown(strings.FRONTIER_OTHER_PAIR)
                with gr.Tab(strings.VIEWS["theory"], id="theory"):
                    theory = build_theory(stage)
                with gr.Tab(strings.VIEWS["learn"], id="learn"):
                    gr.Markdown(strings.NOTES, elem_id="notes")
                    build_key()
                    shows = failures(folder)
        buttons = (run, plain, start_race, stop)
        _wire_runs(visitors, controls, buttons, (stage, status, table))
        _wire_race(visitors, controls, buttons, (track, status))
        _wire_notes(controls, notes)
        wire_recordings(folder, (chosen, shows), controls, (stage, table, status), views)
        if front:
            _wire_frontier(front, visitors, controls, (stage, table, status), views)
        wire_links(demo, controls, link, (views, stage, table, asked), folder, (front, theory))
        offer(visitors)
        demo.load(_follow_loading(engine, problem), None, loading, concurrency_limit=None, **QUIET)
        demo.unload(_closer(visitors, front))
    return demo


def _controls(
    begin: dict[str, Any], noises: tuple[str, ...]
) -> tuple[dict[str, Any], tuple[gr.Button, ...], tuple[gr.HTML, gr.HTML], tuple[gr.HTML, gr.HTML], LinkBoxes]:
    """The settings of the next run, at first those of the run on the stage (`begin`), the buttons and what is said beside them."""

    def first(field: str) -> Any:
        return begin.get(field, getattr(Request, field, ""))

    def labels(field: str) -> dict[str, Any]:
        label, info = strings.CONTROLS[field]
        return {"label": label, "info": info, "elem_id": field}

    def slider(field: str, step: float) -> gr.Slider:
        low, high = SLIDERS[field]
        return gr.Slider(low, high, first(field), step=step, **labels(field))

    c: dict[str, Any] = {}
    c["prompt"] = gr.Textbox(first("prompt"), max_length=MAX_PROMPT_CHARACTERS, lines=3, max_lines=8, **labels("prompt"))
    names = [strings.EXAMPLE_NAMES[name] for name in strings.EXAMPLES]
    gr.Examples([[text] for text in strings.EXAMPLES.values()], c["prompt"], example_labels=names, label=strings.TRY)
    with gr.Row():
        run = gr.Button(strings.RUN, variant="primary", elem_id="run", min_width=90)
        stop = gr.Button(strings.STOP, interactive=False, elem_id="stop", min_width=90)
    plain = gr.Button(strings.PLAIN, elem_id="plain", size="sm")
    loading, status = line(elem_id="loading"), line(elem_id="status")  # page.css shows the first while the second is empty
    gr.Markdown(strings.NEXT_RUN)
    c["noise"] = gr.Radio(
        [(strings.NOISE_LABELS[n], n) for n in noises], value=first("noise") if first("noise") in noises else noises[0], **labels("noise")
    )
    c["steps"], c["leniency"] = slider("steps", 1), slider("leniency", 0.01)
    c["rule"] = gr.Dropdown([(strings.said(knob.label), name) for name, knob in KNOBS.items()], value=first("rule"), **labels("rule"))
    native = line(elem_id="native")
    proposals = [(strings.PROPOSAL_DEFAULT, ""), *((f"{name}: {strings.said(text)}", name) for name, text in PROPOSALS.items())]
    c["proposal"] = gr.Dropdown(proposals, value=first("proposal"), **labels("proposal"))
    law = line(elem_id="law")
    c["gamma"], c["temperature"] = slider("gamma", 1), slider("temperature", 0.05)
    with gr.Accordion(strings.MORE, open=False):
        c["max_tokens"], c["top_k"], c["top_p"] = slider("max_tokens", 1), slider("top_k", 1), slider("top_p", 0.01)
        c["seed"] = gr.Number(first("seed"), precision=0, **labels("seed"))
        for field in ("raw", "original"):
            c[field] = gr.Checkbox(first(field), **labels(field))
    return c, (run, plain, stop), (loading, status), (native, law), build_link()


def _wire_job(
    button: gr.Button, handler: Any, controls: dict[str, Any], buttons: tuple[gr.Button, ...], outputs: list[Any], status: Any
) -> None:
    """A button that starts a job without `cancels=`: the visitor's flag stops the decoder, the page only toggles its buttons."""
    armed = button.click(None, None, list(buttons[:-1]), js=BUSY, **QUIET)
    job = armed.then(
        handler, list(controls.values()), [*outputs, buttons[-1]], preprocess=False, concurrency_limit=64, trigger_mode="once", **QUIET
    )
    job.then(None, None, list(buttons), js=IDLE, **QUIET)
    job.failure(None, None, [*buttons, status], js=REFUSED, **QUIET)  # Gradio skips `then` when the server refuses a job


def _wire_runs(visitors: Visitors, controls: dict[str, Any], buttons: tuple[gr.Button, ...], outputs: tuple[Any, ...]) -> None:

    def runner(plain: bool) -> Any:
        async def run_prompt(page: gr.Request, *values: Any) -> AsyncIterator[tuple[Any, ...]]:
            try:
                request = Request(**dict(zip(controls, values, strict=True)), plain=plain)
            except RequestError as error:
                yield *_shown(Update("bad", strings.said(error))), gr.skip()
                return
            async with aclosing(visitors.run(page.session_hash or "", request)) as updates:
                enable: Any = gr.update(interactive=True)  # from here on there is something to stop
                async for update in updates:
                    yield *_shown(update), enable
                    enable = gr.skip()

        return run_prompt

    for button, handler in zip(buttons, (runner(plain=False), runner(plain=True)), strict=False):
        _wire_job(button, handler, controls, buttons, list(outputs), outputs[1])
    buttons[-1].click(_stopper(visitors), None, None, queue=False, **QUIET)


def _wire_race(visitors: Visitors, controls: dict[str, Any], buttons: tuple[gr.Button, ...], outputs: tuple[Any, Any]) -> None:
    async def run_lanes(page: gr.Request, *values: Any) -> AsyncIterator[tuple[Any, ...]]:
        try:
            request = Request(**dict(zip(controls, values, strict=True)))
        except RequestError as error:
            yield gr.skip(), f"bad:{strings.said(error)}", gr.skip()
            return
        enable: Any = gr.update(interactive=True)
        async with aclosing(run_race(visitors, page.session_hash or "", request)) as updates:
            async for update in updates:
                yield gr.skip() if update.trace is None else update.trace, f"{update.tone}:{update.sentence}", enable
                enable = gr.skip()

    _wire_job(buttons[2], run_lanes, controls, buttons, list(outputs), outputs[1])


def _shown(update: Update) -> tuple[Any, ...]:
    keep = gr.skip()
    sentence = f"{update.tone}:{update.sentence}"
    return (keep if update.trace is None else update.trace, sentence, keep if update.numbers is None else update.numbers)


def _stopper(visitors: Visitors) -> Any:
    async def stop(page: gr.Request) -> None:
        visitors.stop(page.session_hash or "")

    return stop


def _closer(visitors: Visitors, front: Frontier | None) -> Any:
    async def close(page: gr.Request) -> None:
        visitors.forget(page.session_hash or "")
        if front:
            front.own.forget(page.session_hash or "")

    return close


def _wire_frontier(front: Frontier, visitors: Visitors, controls: dict[str, Any], shown: tuple[Any, ...], views: gr.Tabs) -> None:
    """A picked point sets the controls and, where a decode of it is recorded, plays that; finished runs become stars."""
    visitors.finished = front.own.add

    def pick(event: gr.EventData) -> list[Any]:
        found = front.picked(event)
        stage = [*played(found.trace, found.name), NOTHING_SAID, gr.Tabs(selected="live")] if found.trace else [gr.skip()] * 4
        return [*stage, *(found.values.get(name, gr.skip()) for name in controls), f"{found.tone}:{found.sentence}"]

    front.chart.pick(pick, None, [*shown, views, *controls.values(), front.status], queue=False, **QUIET)


def _wire_notes(controls: dict[str, Any], notes: tuple[gr.HTML, gr.HTML]) -> None:
    inputs = [controls[name] for name in WEIGHED]
    gr.on([c.change for c in inputs], _note, inputs, list(notes), preprocess=False, queue=False, **QUIET)  # Request checks raw values
    for note, value in zip(notes, _note(*(c.value for c in inputs)), strict=True):
        note.value = value


def _note(*values: Any) -> tuple[str, str]:
    """What the settings amount to: the leniency in the rule's own terms, and whether the law is kept."""
    try:
        r = Request(prompt="", **dict(zip(WEIGHED, values, strict=True)))
    except RequestError as error:
        return f"bad:{strings.said(error)}", "bad:"
    exact = is_lossless(r.rule, r.leniency, r.proposal, r.steps, r.gamma)
    native = strings.NATIVE.format(native=strings.said(KNOBS[r.rule].native(r.leniency)), help=strings.said(KNOBS[r.rule].help))
    return f"note:{native}", f"good:{strings.LOSSLESS}" if exact else f"busy:{strings.LOSSY}"


def _follow_loading(engine: Engine, problem: str) -> Any:
    async def follow() -> AsyncIterator[str]:
        over = False
        while not over:
            over = engine.ready or bool(engine.error)  # asked before the sentence is made: the last one must tell how it ended
            tone, sentence = engine.status()
            yield f"{tone}:{sentence} {problem or RECORDING_NOTE.get(tone, '')}"
            await anyio.sleep(0 if over else POLL_SECONDS)

    return follow


def theme() -> gr.themes.Base:
    """System fonts and enough contrast, light and dark."""
    return gr.themes.Default(primary_hue="blue", font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]).set(
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_300",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_300",
        button_primary_background_fill="*primary_700",
        button_primary_background_fill_hover="*primary_800",
        button_primary_background_fill_dark="*primary_700",
        button_primary_background_fill_hover_dark="*primary_600",
    )


def launch(demo: gr.Blocks, host: str, port: int | None, **more: Any) -> str:
    """Serve the page behind the guard; returns its address. `more` goes to Gradio's launch."""
    demo.queue(max_size=64, api_open=False)
    _, url, _ = demo.launch(
        server_name=host,
        server_port=port,
        ssr_mode=False,
        run_history=False,
        state_session_capacity=300,
        max_file_size="1mb",
        enable_monitoring=False,
        max_threads=100,
        pwa=False,
        footer_links=[],
        theme=theme(),
        css=read("page.css"),
        head=f'<script>document.documentElement.lang = "{strings.LANGUAGE}"</script>',
        mcp_server=find_spec("mcp") is not None,  # the documented endpoints become tools where gradio[mcp] is installed
        app_kwargs={"middleware": [Middleware(Guard), Middleware(Early)]},
        **more,
    )
    return url
