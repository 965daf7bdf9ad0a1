"""The page: layout and events. Knows Gradio; leaves runs to live.py and pictures to the player."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import gradio as gr
from starlette.middleware import Middleware

from sdiff.request import KNOBS, MAX_PROMPT_CHARACTERS, NOISES, PROPOSALS, SLIDERS, Request, RequestError, is_lossless
from sdiff.trace import Trace, TraceError
from sdiff.ui import strings
from sdiff.ui.components import line, numbers_table, player, read
from sdiff.ui.engine import Engine
from sdiff.ui.guard import Guard
from sdiff.ui.live import POLL_SECONDS, Update, Visitors, source_line
from sdiff.ui.numbers import numbers

RECORDED = Path(__file__).parents[2] / "precomputed" / "recorded"
WEIGHED = ("noise", "steps", "leniency", "rule", "proposal", "gamma")  # the settings that decide losslessness
RECORDING_NOTE = {"busy": strings.PLAYS_MEANWHILE, "bad": strings.STAYS_USABLE}
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
BUSY = "() => [{__type__: 'update', interactive: false}, {__type__: 'update', interactive: false}]"
IDLE = "() => [{__type__: 'update', interactive: true}, {__type__: 'update', interactive: true}, {__type__: 'update', interactive: false}]"
REFUSED = IDLE.replace("]", f", {json.dumps('bad:' + strings.REFUSED)}]")


def recording(folder: Path = RECORDED) -> tuple[str, str, str, str]:
    """(player value, numbers value, prompt, sentence) of the first recorded run by name; the sentence says why there is none."""
    files = sorted(folder.glob("*.json"))
    if not files:
        return "", "", "", strings.NO_RECORDING
    try:
        trace = Trace.from_json(files[0].read_text(encoding="utf-8"))
    except (TraceError, OSError, UnicodeDecodeError) as error:
        return "", "", "", strings.RECORDING_BROKEN.format(error=error)
    return source_line("recorded") + trace.to_ndjson(), numbers(trace, "recorded"), trace.events[0].prompt, ""


def build(engine: Engine, folder: Path = RECORDED) -> gr.Blocks:
    """The whole page for one engine. `folder` holds the recorded runs."""
    trace, figures, prompt, problem = recording(folder)
    visitors = Visitors(engine)
    with gr.Blocks(title=strings.TITLE, analytics_enabled=False, delete_cache=(3600, 3600)) as demo:
        gr.Markdown(f"# {strings.TITLE}\n\n{strings.TAGLINE}", elem_id="intro")
        with gr.Row(elem_id="columns"):
            with gr.Column(elem_id="controls"):
                controls, buttons, status, notes = _controls(prompt or next(iter(strings.EXAMPLES.values())))
            stage = player(trace, elem_id="player")
            table = numbers_table(figures, elem_id="numbers")
        _wire_runs(visitors, controls, buttons, (stage, status, table))
        _wire_notes(controls, notes)
        demo.load(_follow_loading(visitors, problem), None, status, concurrency_limit=None, **QUIET)
        demo.unload(_stopper(visitors))
    return demo


def _controls(prompt: str) -> tuple[dict[str, Any], tuple[gr.Button, ...], gr.HTML, tuple[gr.HTML, gr.HTML]]:
    def labels(field: str) -> dict[str, Any]:
        label, info = strings.CONTROLS[field]
        return {"label": label, "info": info, "elem_id": field}

    def slider(field: str, step: float) -> gr.Slider:
        low, high = SLIDERS[field]
        return gr.Slider(low, high, getattr(Request, field), step=step, **labels(field))

    c: dict[str, Any] = {}
    c["prompt"] = gr.Textbox(prompt, max_length=MAX_PROMPT_CHARACTERS, lines=3, max_lines=8, **labels("prompt"))
    gr.Examples([[text] for text in strings.EXAMPLES.values()], c["prompt"], example_labels=list(strings.EXAMPLES), label="")
    with gr.Row():
        run = gr.Button(strings.RUN, variant="primary", elem_id="run", min_width=90)
        stop = gr.Button(strings.STOP, interactive=False, elem_id="stop", min_width=90)
    plain = gr.Button(strings.PLAIN, elem_id="plain", size="sm")
    status = line(elem_id="status")
    gr.Markdown(strings.NEXT_RUN)
    c["noise"] = gr.Radio([(strings.NOISE_LABELS[n], n) for n in NOISES], value=Request.noise, **labels("noise"))
    c["steps"], c["leniency"] = slider("steps", 1), slider("leniency", 0.01)
    c["rule"] = gr.Dropdown([(knob.label, name) for name, knob in KNOBS.items()], value=Request.rule, **labels("rule"))
    native = line(elem_id="native")
    proposals = [(strings.PROPOSAL_DEFAULT, ""), *((f"{name}: {text}", name) for name, text in PROPOSALS.items())]
    c["proposal"] = gr.Dropdown(proposals, value="", **labels("proposal"))
    law = line(elem_id="law")
    c["gamma"], c["temperature"] = slider("gamma", 1), slider("temperature", 0.05)
    with gr.Accordion(strings.MORE, open=False):
        c["max_tokens"], c["top_k"], c["top_p"] = slider("max_tokens", 1), slider("top_k", 1), slider("top_p", 0.01)
        c["seed"] = gr.Number(Request.seed, precision=0, **labels("seed"))
        for field in ("raw", "original"):
            c[field] = gr.Checkbox(getattr(Request, field), **labels(field))
    return c, (run, plain, stop), status, (native, law)


def _wire_runs(visitors: Visitors, controls: dict[str, Any], buttons: tuple[gr.Button, ...], outputs: tuple[Any, ...]) -> None:
    """Run and Stop without `cancels=`: the visitor's flag stops the decoder, the page only toggles its buttons."""

    def runner(plain: bool) -> Any:
        async def decode(page: gr.Request, *values: Any) -> AsyncIterator[tuple[Any, ...]]:
            try:
                request = Request(**dict(zip(controls, values, strict=True)), plain=plain)
            except RequestError as error:
                yield *_shown(Update("bad", str(error))), gr.skip()
                return
            async with aclosing(visitors.run(page.session_hash or "", request)) as updates:
                enable: Any = gr.update(interactive=True)  # from here on there is something to stop
                async for update in updates:
                    yield *_shown(update), enable
                    enable = gr.skip()

        return decode

    run, plain, stop = buttons
    for button, handler in ((run, runner(plain=False)), (plain, runner(plain=True))):
        armed = button.click(None, None, [run, plain], js=BUSY, **QUIET)
        job = armed.then(
            handler, list(controls.values()), [*outputs, stop], preprocess=False, concurrency_limit=64, trigger_mode="once", **QUIET
        )
        job.then(None, None, list(buttons), js=IDLE, **QUIET)
        job.failure(None, None, [*buttons, outputs[1]], js=REFUSED, **QUIET)  # Gradio skips `then` when the server refuses a job
    stop.click(_stopper(visitors), None, None, queue=False, **QUIET)


def _shown(update: Update) -> tuple[Any, ...]:
    keep = gr.skip()
    sentence = f"{update.tone}:{update.sentence}"
    return (keep if update.trace is None else update.trace, sentence, keep if update.numbers is None else update.numbers)


def _stopper(visitors: Visitors) -> Any:
    async def stop(page: gr.Request) -> None:
        visitors.stop(page.session_hash or "")

    return stop


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
        return f"bad:{error}", "bad:"
    exact = is_lossless(r.rule, r.leniency, r.proposal, r.steps, r.gamma)
    native = strings.NATIVE.format(native=KNOBS[r.rule].native(r.leniency), help=KNOBS[r.rule].help)
    return f"note:{native}", f"good:{strings.LOSSLESS}" if exact else f"busy:{strings.LOSSY}"


def _follow_loading(visitors: Visitors, problem: str) -> Any:
    async def follow(page: gr.Request) -> AsyncIterator[str]:
        engine = visitors.engine
        while not visitors.busy(page.session_hash or ""):  # a run writes the status line itself
            tone, sentence = engine.status()
            yield f"{tone}:{sentence} {problem or RECORDING_NOTE.get(tone, '')}"
            if engine.ready or engine.error:
                return
            await anyio.sleep(POLL_SECONDS)

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
        app_kwargs={"middleware": [Middleware(Guard)]},
        **more,
    )
    return url
