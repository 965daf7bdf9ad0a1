"""The measured part of the README, written from stored rows; a test fails when it is stale."""

from __future__ import annotations

from typing import Any

from sdiff.bench.points import is_exact, quality, speed
from sdiff.bench.report import last_run, lossless, report, timings
from sdiff.bench.settings import GRADED, Setting, paper
from sdiff.bench.store import Store, arithmetic, by_setting
from sdiff.request import NOISES
from sdiff.tasks import TASKS


def between(text: str, name: str, body: str) -> str:
    """`text` with what stands between the marks of `name` replaced by `body`. Raises ValueError where there are no marks."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if start not in text or end not in text:
        raise ValueError(f"there is no line {start.strip()} with its end")
    head, rest = text.split(start, 1)
    return head + start + body + "\n" + rest[rest.index(end) :]


def markdown(store: Store, models: dict[str, str]) -> str:
    """Headline sentences and the table of the paper's shape, losses as plainly as wins; one sentence where nothing is measured."""
    figures = report(store, models)
    if not figures["points"]:
        return "Nothing has been measured with these models yet."
    return "\n".join([*headlines(store, models, figures), "", *table(store, models), "", measured_on(last_run(store, models))])


def headlines(store: Store, models: dict[str, str], figures: dict[str, Any]) -> list[str]:
    """One line per finding."""
    lines, timed = [], timings(store, models)
    for task in TASKS:
        if best := lossless(timed, task):
            verdict = "" if best["speedup_low"] > 1 else ": **not faster than plain decoding for certain**"
            lines.append(f"- {task}, lossless: {best['speedup']:.2f}× ({best['speedup_low']:.2f} – {best['speedup_high']:.2f}) at best "
                         f"({best['setting']}){verdict}.")  # fmt: skip
    for task in GRADED:
        ratios = figures["joint_vs_single_settings"][task]
        for noise, row in ((noise, row) for noise in NOISES if (row := ratios[noise])):
            if row["joint"] == row["single"]:
                lines.append(
                    f"- {task}, {noise}, both knobs against leniency alone: nothing is faster at no worse quality than one step ({row['single']})."
                )
                continue
            lines.append(f"- {task}, {noise}, both knobs against leniency alone: {row['ratio']:.2f}× ({row['low']:.2f} – {row['high']:.2f}) as fast, "
                         f"quality {row['quality_difference']:+.3f} ({row['joint']} against {row['single']}; picked on half of the problems, "
                         "compared on the other).")  # fmt: skip
        if row := figures["adaptive_gain_settings"][task]:
            lines.append(
                f"- {task}, a banked budget against the best fixed setting at no larger mean TV ({row['tv']:.3f}): {row['ratio']:.2f}× as fast at best "
                f"({row['setting']}); against fixed leniency with the same steps {row['alike']:.2f}×."
            )
    if row := figures["routed_gain"]:
        if set(row["settings"].values()) == {row["single"]}:
            lines.append(
                f"- Lossless, {row['single']} is the fastest setting for every task, so routing a prompt to its task's gains nothing."
            )
        else:
            own = "; ".join(f"{task}: {name}" for task, name in row["settings"].items())
            lines.append(f"- Lossless, each prompt with its task's fastest setting ({own}) against the fastest single one ({row['single']}): "
                         f"{row['ratio']:.2f}× as fast (picked on half of the problems, compared on the other).")  # fmt: skip
    lines += modelled_lines(figures["joint_vs_single_modelled"])
    if figures["cycle_cost"]:
        lines.append(f"- One cycle at S = 1 costs {figures['cycle_cost']:.2f} plainly decoded tokens.")
    if figures["plain_vs_transformers"]:
        lines.append(
            f"- Plain decoding is {figures['plain_vs_transformers']:.2f} × as fast as transformers' `generate` with the same weights."
        )
    if figures["mbu"]:
        lines.append(f"- A plain token takes {1 / figures['mbu']:.1f} × as long as reading the weights once would.")
    return lines


def modelled_lines(by_cost: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    """What both knobs would gain over leniency alone beside a verifier whose pass costs more."""
    lines = []
    for cost, ratios in by_cost.items():
        told = [
            f"{task} {noise} {row['ratio']:.2f}× ({row['low']:.2f} – {row['high']:.2f}) at quality {row['quality_difference']:+.3f}"
            for task in GRADED
            for noise, row in ratios[task].items()
            if row
        ]
        if told:
            lines.append(
                f"- Modelled, not timed (speed = τ ÷ (1 + S × {cost})), both knobs against leniency alone, picked and compared likewise: {', '.join(told)}."
            )
    return lines


def table(store: Store, models: dict[str, str]) -> list[str]:
    """Accuracy and speed at the two settings that "A Tale of Two Tradeoffs" reports, beside the baseline."""
    decoded, timed = by_setting(store.rows("quality", models)), by_setting(timings(store, models))
    rows = ["| task | setting | accuracy (95 %, n) | speed (95 %) | τ |", "|---|---|---|---|---|"]
    for setting in paper(GRADED):
        if setting not in decoded:
            rows.append(f"| {setting.task} | {short(setting)} | not measured | | |")
            continue
        q, s = quality(decoded[setting]), speed(timed[setting]) if setting in timed else None
        pace = f"{s['speedup']:.2f}× ({s['speedup_low']:.2f} – {s['speedup_high']:.2f})" if s else "not measured"
        rows.append(
            f"| {setting.task} | {short(setting)} | {q['accuracy']:.3f} ({q['low']:.2f} – {q['high']:.2f}, {q['n']}) | {pace} | {q['tau']:.2f} |"
        )
    return rows


def short(setting: Setting) -> str:
    """A setting of the grid in a few words."""
    if not setting.noise:
        return "plain decoding"
    return f"{setting.noise}, S = {setting.steps}, λ = {setting.leniency:g}{' (lossless)' if is_exact(setting) else ''}"


def measured_on(run: dict[str, Any]) -> str:
    """Where the timings come from."""
    return (f"Timed on {run['name']} ({run['threads']} threads, {arithmetic(run)}, torch {run['torch']}, {run['date']}), temperature {run['temperature']:g}, "
            f"seed {run['seed']}; every ratio is to plain decoding of the same prompt in the same run.")  # fmt: skip
