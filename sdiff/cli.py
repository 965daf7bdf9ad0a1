"""The decoder in a terminal: arguments to a request, events to coloured lines. Refuses to compute anything itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from sdiff import registry
from sdiff.fetch import PairError
from sdiff.measures import rates
from sdiff.request import KNOBS, LIMITS, NOISES, PROPOSALS, Request, RequestError
from sdiff.tasks import TASKS
from sdiff.trace import MASKED, Denoise, Emit, End, Event, Pieces, Prefill, Run, Trace, TraceError, Verdict, Verify
from sdiff.ui.states import LIGHT, STATES

_LINES = {"solid": "", "double": " underline", "strike": " strike", "faint": " dim", "bold": " bold", "thick": " bold"}
OUTCOMES = {s.name: (s.glyph, f"{LIGHT[s.fill][1]} on {LIGHT[s.fill][0]}{_LINES[s.line]}") for s in STATES if s.fill in LIGHT}
HELP = {
    "noise": "diffusion noise of the drafter", "steps": "denoising passes per block", "leniency": "0 strict … 1 keeps the most drafts the rule can", "rule": "acceptance rule",
    "proposal": "how the block is drawn", "gamma": "drafted tokens per block", "temperature": "0: argmax", "top_k": "0: off", "top_p": "1: off", "seed": "same seed, same run",
    "max_tokens": "most new tokens", "raw": "no chat template", "original": "verifier as published, without the task adapter", "plain": "no drafter: the baseline",
}  # fmt: skip


def visible(label: str) -> str:
    """A label on one line with nothing a terminal would obey: newlines, spaces and control characters are drawn."""
    drawn = label.replace("\r\n", "⏎").replace("\n", "⏎").replace(" ", "␣").replace("\t", "⇥")
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in drawn)


def harmless(text: str) -> str:
    """Text whose control characters, except newline and tab, are written out."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


class Printer:
    """Draws events as they come: denoising steps as rows, one verify line, then the verdicts."""

    def __init__(self, console: Console) -> None:
        self.console, self.pieces, self.verdicts, self.last = console, {}, [], None

    def chip(self, token: int, glyph: str = "", style: str = "") -> Text:
        shown = "░" if token == MASKED else visible(self.pieces.get(token, f"⟨{token}⟩"))
        return Text(f"{glyph}{shown}", style=style)

    def line(self, head: str, chips: list[Text]) -> None:
        self.console.print(Text(f"{head:>9} ", style="dim"), Text(" ").join(chips), sep="", soft_wrap=True)

    def show(self, event: Event) -> None:
        if isinstance(event, Pieces):
            self.pieces |= event.pieces
        elif isinstance(event, Run):
            s, kind = event.settings, "lossless" if event.lossless else "not lossless"
            how = (
                "plain decoding"
                if s["plain"]
                else f"{s['noise']} noise, {s['steps']} steps, {s['rule']} ({s['native']}), {s['proposal']}, γ = {s['gamma']}, {kind}"
            )
            self.console.print(Text(f"{event.models.get('verifier', 'verifier')} · {how}", style="bold"))
            if note := event.models.get("note"):
                self.console.print(Text(note, style="dim"))
        elif isinstance(event, Prefill):
            self.console.print(Text(f"read {event.tokens} prompt tokens in {event.ms:.0f} ms", style="dim"))
        elif isinstance(event, Denoise) and event.canvas:
            if event.step == 0:
                self.console.rule(f"cycle {event.cycle}", style="dim")
            chips = [self.chip(t, style="bold" if fixed else "dim") for t, fixed in zip(event.canvas, event.fixed, strict=True)]
            self.line("noise" if event.step == 0 else f"step {event.step}", chips)
        elif isinstance(event, Verify):
            self.last, self.verdicts = event, []
        elif isinstance(event, Verdict):
            self.verdicts.append(event)
        elif isinstance(event, Emit):
            self.outcome(event)

    def outcome(self, event: Emit) -> None:
        chips = []
        for i, token in enumerate(self.last.tokens):
            v = self.verdicts[i] if i < len(self.verdicts) else None
            state = "unexamined" if v is None else "lenient" if v.lenient else "accepted" if v.accepted else "rejected"
            chips.append(self.chip(token, *OUTCOMES[state]))
        if event.extra:
            chips.append(self.chip(event.tokens[-1], *OUTCOMES[event.extra]))
        self.line("verdicts", chips)
        if self.last.tokens:
            self.line(
                "",
                [
                    Text(
                        f"draft {self.last.draft_ms:.1f} ms, verify {self.last.ms:.1f} ms, kept {event.accepted} of {len(self.last.tokens)}",
                        style="dim",
                    )
                ],
            )

    def summary(self, end: End) -> None:
        stats, spent = end.stats, end.stats["ms"]
        self.console.rule("text", style="dim")
        self.console.print(Text(harmless(end.text)))
        self.console.rule("numbers", style="dim")
        self.console.print(
            f"{stats['tokens']} tokens in {stats['cycles']} cycles: τ = {stats['tau']:.2f} tokens per cycle, "
            f"{stats['tokens_per_second']:.1f} tokens/s, ended by {end.reason}",
            Text(f"draft {spent['draft']:.0f} ms · verify {spent['verify']:.0f} ms · examine {spent['examine']:.0f} ms · prompt {spent['prefill']:.0f} ms", style="dim"),
            sep="\n", highlight=False,
        )  # fmt: skip
        if any(stats["drafted"]):
            table = Table("position", "examined", "accepted", "rate (95 % interval)", "survival", box=None, header_style="dim")
            for row in rates(stats):
                if row["drafted"]:
                    rate = f"{row['rate']:.2f} ({row['low']:.2f} – {row['high']:.2f})" if row["examined"] else "–"
                    table.add_row(*(str(row[key]) for key in ("position", "examined", "accepted")), rate, f"{row['survival']:.2f}")
            self.console.print(table)


def add_request_arguments(parser: argparse.ArgumentParser) -> None:
    """One option per field of Request, with its limits in the help."""
    choices = {"noise": NOISES, "rule": tuple(KNOBS), "proposal": tuple(PROPOSALS)}
    for f in fields(Request):
        if f.default is MISSING:
            continue
        option = "--" + f.name.replace("_", "-")
        if f.type == "bool":
            parser.add_argument(option, action="store_true", help=HELP[f.name])
        else:
            low, high = LIMITS.get(f.name, (None, None))
            span = f" ({low:g} to {high:g}, default {f.default:g})" if low is not None else f" (default {f.default or 'fits the noise'})"
            kind = {"int": int, "float": float, "str": str}[f.type]
            parser.add_argument(
                option, type=kind, default=f.default, choices=choices.get(f.name), help=HELP[f.name] + span.replace("%", "%%")
            )


@contextmanager
def fetching(console: Console) -> Iterator[object]:
    """A progress bar on stderr for whatever loading has to do first."""
    with Progress(TextColumn("{task.description}"), BarColumn(), console=console, transient=True) as bar:
        task = bar.add_task("Starting", total=None)
        yield lambda text, done: bar.update(task, description=text, total=None if done is None else 1.0, completed=done or 0.0)


def decode_command(args: argparse.Namespace) -> int:
    """Run one decode. → exit status: 0, 1 when a model failed, 2 when the request is wrong, 130 when interrupted."""
    notes = Console(stderr=True)
    if args.noise is None:
        args.noise = registry.PAIRS[args.pair].noises[0]
    try:
        request = Request(args.prompt, **{f.name: getattr(args, f.name) for f in fields(Request) if f.name != "prompt"})
        with fetching(notes) as progress:
            from sdiff.pairs import load_pair  # torch and transformers take seconds: wrong requests fail before that

            pair = load_pair(args.device, args.dtype, progress, args.threads, **registry.chosen(args))
            if args.json:  # a record says what plain decoding takes on the same machine
                pair.calibrate()
    except (RequestError, PairError) as error:
        notes.print(Text(str(error), style="red"))
        return 2 if isinstance(error, RequestError) else 1
    printer, trace, status = Printer(Console(highlight=False)), Trace(), 0
    try:
        for event in trace.record(pair.stream(request)):
            if not args.json:
                printer.show(event)
    except KeyboardInterrupt:
        status = 130
    except (RequestError, ArithmeticError) as error:
        notes.print(Text(str(error), style="red"))
        status = 2 if isinstance(error, RequestError) else 1
    if args.json and trace.events:
        sys.stdout.write(trace.to_json())
    elif trace.end:
        printer.summary(trace.end)
    elif trace.events:
        printer.console.print(Text(harmless(trace.text)))
    return status


def pairs_command(args: argparse.Namespace) -> int:
    """`pairs`: everything that can be decoded with. → exit status"""
    print(registry.listing(args.json))
    return 0


def add_machine_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to compute; the same for every command that loads the models."""
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda (default auto)")
    parser.add_argument("--dtype", default="auto", help="auto, bfloat16 or float32 (default auto)")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads, 0: all this process may use (default 0)")


def add_doctor_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `doctor`."""
    parser.add_argument("--json", action="store_true", help="machine-readable")
    add_machine_arguments(parser)
    registry.add_compile(parser)


def add_record_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `record`."""
    parser.add_argument("names", nargs="*", help="which (default: all); see sdiff/ui/recordings.py")
    parser.add_argument("--out", type=Path, help="folder of the recorded runs (default: the shipped ones)")
    add_machine_arguments(parser)


def record_command(args: argparse.Namespace) -> int:
    """`record`: make the stored runs again. → exit status: 0, 1 without models, 2 for a name that is not known."""
    from sdiff.ui.recordings import RECORDED, REQUESTS, record

    notes = Console(stderr=True)
    if unknown := set(args.names) - set(REQUESTS):
        notes.print(Text(f"Unknown: {', '.join(sorted(unknown))}. There are {', '.join(REQUESTS)}.", style="red"))
        return 2
    try:
        with fetching(notes) as progress:
            from sdiff.pairs import load_pair

            pair = load_pair(args.device, args.dtype, progress, args.threads)
    except PairError as error:
        notes.print(Text(str(error), style="red"))
        return 1
    pair.calibrate()
    for name in record(pair.stream, args.out or RECORDED, args.names):
        notes.print(f"recorded {name}")
    return 0


def add_lesson_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `lesson`."""
    parser.add_argument("trace", metavar="run", type=Path, help="a run, as saved by the page or printed by `decode --json`")
    parser.add_argument("--out", type=Path, default=Path("lesson.html"), help="file to write (default lesson.html)")


def lesson_command(args: argparse.Namespace) -> int:
    """`lesson`: a run as one page that plays without a network. → exit status: 0, 1 when the run cannot be read."""
    from sdiff.ui.lesson import lesson

    try:
        args.out.write_text(lesson(Trace.from_json(args.trace.read_text(encoding="utf-8"))), encoding="utf-8")
    except (TraceError, UnicodeDecodeError) as error:
        Console(stderr=True).print(Text(f"{args.trace.name} cannot be read: {error}", style="red"))
        return 1
    return 0


def add_bench_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bench`."""
    parser.add_argument("--pass", dest="kind", choices=("both", "quality", "speed", "traces"), default="both",
                        help="quality: many decodes at once; speed: single runs, nothing else may be running; traces: decodes to look at "
                             "(default both of the first two)")  # fmt: skip
    parser.add_argument("--minutes", type=float, default=60.0, help="time budget; the same command goes on later (default 60)")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=[*TASKS], help="default: all")
    parser.add_argument("--n", type=int, default=300, help="problems per setting, at most (default 300)")
    parser.add_argument("--prompts", type=int, default=12, help="timed prompts per task (default 12)")
    parser.add_argument("--quick", action="store_true", help="this machine's speed in five minutes: quality comes from the shipped rows")
    parser.add_argument("--out", type=Path, help="folder of the measurements (default: frontier in the cache folder)")
    parser.add_argument(
        "--ray", metavar="ADDRESS", help="share the quality pass over this Ray cluster: auto, HOST:PORT, or local (this machine alone)"
    )
    add_machine_arguments(parser)
    registry.add_compile(parser)


def add_frontier_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `frontier`."""
    parser.add_argument("folder", type=Path, nargs="?", help="folder of measurements (default: the shipped ones)")
    parser.add_argument("--json", action="store_true", help="machine-readable")
    parser.add_argument("--write", type=Path, help="headlines and table into the marked place of this file (README.md)")


def add_recommend_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `recommend`."""
    parser.add_argument("folder", type=Path, nargs="?", help="folder of measurements (default: the shipped ones)")
    bound = parser.add_mutually_exclusive_group(required=True)
    bound.add_argument("--quality", type=float, help="at least this accuracy, or 1 − mean TV for chat, from 0 to 1")
    bound.add_argument("--speed", type=float, help="at least this many times as fast as plain decoding")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--task", choices=TASKS)
    what.add_argument("--prompt", help="a prompt, whose task is guessed from its words")


def measure_command(args: argparse.Namespace) -> int:
    """`bench`, `doctor`, `frontier` or `recommend`. → exit status: 0, 1 when the models or the measurements cannot be read."""
    from sdiff.bench import command, doctor

    run = {"bench": command.bench, "doctor": doctor.doctor, "frontier": command.frontier, "recommend": command.recommend}
    try:
        return run[args.command](args)
    except (PairError, ValueError) as error:
        Console(stderr=True).print(Text(str(error), style="red"))
        return 1
