"""Leniency after the fact: the same coins judged by another one, on the stage, in the sentences, in the text and in the table."""

from __future__ import annotations

import pytest
from conftest import MADE
from playwright.sync_api import Page, expect
from test_player import STAGE, pause

from sdiff.measures import flip_leniency
from sdiff.trace import Verdict
from sdiff.ui import strings


def set_whatif(page: Page, value: float) -> None:
    page.locator(".sd-whatif-slider").evaluate("(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }", value)


def states(page: Page) -> list[str]:
    return page.locator(".sd-verdicts .sd-chip").evaluate_all("c => c.map(x => x.dataset.state || '')")


def test_leniency_after_the_fact_marks_the_verdicts_that_flip(page, trace):
    """The page's first flip, count and colours are those of the trace's own numbers; the verdicts as they fell come back."""
    pause(page)
    expect(page.locator(".sd-whatif-value")).to_have_text("λ = 0.30")
    for leniency in (0.0, 0.8):
        verdicts = trace.of(Verdict)
        would = [v.u * v.q < (1 - leniency) * v.p + leniency * v.q for v in verdicts]
        flipped = [v for v, kept in zip(verdicts, would, strict=True) if kept != v.accepted]
        set_whatif(page, leniency)
        says = page.locator(".sd-whatif-says")
        expect(says).to_contain_text(f"cycle {flipped[0].cycle}, position {flipped[0].position},")
        expect(says).to_contain_text(f"{len(flipped)} of {len(verdicts)} verdicts would change: “")
        assert says.inner_text().partition("would change: ")[2].count("“") == min(16, len(flipped))
        page.locator(".sd-whatif-go").click()
        expect(page.locator(".sd-flipped-verdict")).to_have_count(1)
        assert states(page)[flipped[0].position - 1] == ("rejected" if flipped[0].accepted else "lenient")
        bar = page.locator(".sd-coins .sd-keep").nth(flipped[0].position - 1).evaluate("i => parseFloat(i.style.width)")
        p, q = flipped[0].p, flipped[0].q
        assert bar == pytest.approx(100 * min(1, ((1 - leniency) * p + leniency * q) / q), abs=0.01), "the bar is that of the leniency set"
        expect(page.locator(STAGE)).to_have_attribute("data-kind", "verdict")
        expect(page.locator(".sd-caption")).to_contain_text(f"At λ = {leniency:.2f} position {flipped[0].position},")
        page.keyboard.press("ArrowRight")
        if not flipped[0].accepted:  # what the cycle wrote comes next
            expect(page.locator(STAGE)).to_have_attribute("data-kind", "emit")
            expect(page.locator(".sd-caption")).to_contain_text(f"At λ = {leniency:.2f} position {flipped[0].position},")
        page.keyboard.press("ArrowLeft")
        page.locator(".sd-flipped-verdict").focus()
        expect(page.locator(".sd-card")).to_contain_text("would be rejected" if flipped[0].accepted else "would be accepted")
        expect(page.locator(".sd-card")).to_contain_text("As recorded: Kept" if flipped[0].accepted else "As recorded: Refused")
    page.locator(".sd-whatif-reset").click()
    expect(page.locator(".sd-flipped-verdict")).to_have_count(0)
    expect(page.locator(".sd-other")).to_have_count(0)
    assert states(page)[flipped[0].position - 1] == "rejected"


LOOKED_AT = """() => { // every verdict at every leniency, the leniency turned while the verdict stands on the stage
  const slider = document.querySelector(".sd-whatif-slider"), scrub = document.querySelector(".sd-scrub"), seen = [];
  const turn = (input, value) => { input.value = value; input.dispatchEvent(new Event("input", { bubbles: true })); };
  for (let k = 0; k <= Number(scrub.max); k++) {
    turn(scrub, k);
    if (document.querySelector(".sd").dataset.kind !== "verdict") continue;
    for (const at of [0, 0.15, 0.3, 0.7, 1]) {
      turn(slider, at);
      const now = document.querySelector(".sd-verdicts .sd-now"), column = now.parentElement.cellIndex;
      const coin = document.querySelectorAll(".sd-coin")[column - 1];
      seen.push([at, now.dataset.state, coin.dataset.kept, document.querySelector(".sd-caption").textContent]);
    }
  }
  return seen;
}"""


def test_every_verdict_is_told_under_every_leniency(page, trace):
    pause(page)
    seen = page.evaluate(LOOKED_AT)
    assert len(seen) == 5 * len(trace.of(Verdict))
    said = {"accepted": "is accepted", "lenient": "accepted", "rejected": "rejected", "unexamined": "would not be examined"}
    kept = {"accepted": "true", "lenient": "true", "rejected": "false", "unexamined": ""}
    assert {state for _, state, _, _ in seen} == set(said)
    for at, state, coin, caption in seen:
        assert said[state] in caption, (at, state, caption)
        assert f"λ = {at:.2f}" in caption, (at, state, caption)
        assert coin == kept[state]


def test_the_text_marks_what_leniency_kept(page, trace):
    pause(page)
    page.keyboard.press("End")
    kept = [v for v in trace.of(Verdict) if v.lenient]
    expect(page.locator(".sd-whatif-says")).to_contain_text(f"kept {len(kept)} of {len(trace.of(Verdict))} examined drafts")
    marked = page.locator(".sd-by-leniency")
    assert marked.count() == len(kept)
    marked.first.click()
    at = int(page.locator(STAGE).get_attribute("data-cycle"))
    assert any(v.cycle == at for v in kept)


def test_the_cycle_is_there_as_a_table(page, trace):
    """One row per draft and one for what the verifier wrote itself; under another leniency a row's figures are that one's or none."""
    pause(page)
    page.keyboard.press("Home")
    page.keyboard.press("n")
    page.locator(".sd-table summary").click()
    rows = page.locator(".sd-table tbody tr")
    expect(rows).to_have_count(9)
    expect(rows.last).to_have_text("")
    verdict = trace.of(Verdict)[0]
    for text in (
        f"{verdict.p:.3f}",
        f"{verdict.u:.3f}",
        "accepted" if verdict.accepted and not verdict.lenient else "leniency" if verdict.accepted else "rejected",
    ):
        expect(rows.first).to_contain_text(text)
    page.keyboard.press("ArrowRight")
    expect(rows.last).to_contain_text("replacement")
    cells = "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    seen = 0
    for _ in range(4):
        page.keyboard.press("n")
        page.keyboard.press("ArrowRight")
        for leniency in (0.0, 0.15, 0.7):
            set_whatif(page, leniency)
            refused = False
            for *_, u, keep, _, word in (row for row in rows.evaluate_all(cells) if len(row) > 7 and row[6]):
                seen += 1
                assert (word == strings.STATES["unexamined"][0]) == refused
                if not refused:
                    assert (float(u) < float(keep)) == (word != strings.STATES["rejected"][0])
                refused |= word == strings.STATES["rejected"][0]
    assert seen > 20


def test_the_flip_point_is_marked_on_the_slider(page, trace):
    """At the leniency where the coin on the stage flips; nowhere where none between 0 and 1 does."""
    pause(page)
    page.keyboard.press("Home")
    seen = 0
    for _ in range(6):
        page.keyboard.press("n")
        cycle = int(page.locator(STAGE).get_attribute("data-cycle"))
        verdict = next(v for v in trace.of(Verdict) if v.cycle == cycle and not v.accepted)
        flip = flip_leniency("tv", verdict, MADE.temperature)
        mark = page.locator(".sd-whatif-mark")
        assert mark.is_visible() == (0 < flip < 1)
        if not mark.is_visible():
            continue
        seen += 1
        slider = page.locator(".sd-whatif-slider")
        box, tip = slider.bounding_box(), mark.bounding_box()
        assert tip["x"] + tip["width"] / 2 == pytest.approx(box["x"] + 8 + (box["width"] - 16) * flip, abs=2)
        assert f"{flip:.3f}" in slider.get_attribute("aria-description")
    assert seen > 1
