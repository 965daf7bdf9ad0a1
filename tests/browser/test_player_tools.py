"""What a person does with a run: leniency after the fact, the table, presenter, files and the lesson without a network."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from test_player import STAGE, frame, pause, scrub

from sdiff.trace import Emit, Trace, Verdict, Verify
from sdiff.ui.lesson import lesson
from sdiff.ui.live import player_value

NASTY = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2> ${window.hacked=3} {{window.hacked=4}}"


@pytest.fixture
def trace(recorded: Path) -> Trace:
    return Trace.from_json((recorded / "first.json").read_text(encoding="utf-8"))


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


def test_a_pinned_token_is_let_go_by_a_jump_to_another_one(page):
    pause(page)
    page.keyboard.press("Home")
    page.keyboard.press("n")
    page.locator(".sd-verdicts .sd-chip[data-state]").first.click()
    page.mouse.move(0, 0)
    expect(page.locator(".sd-card")).to_contain_text("Pinned")
    expect(page.locator(".sd-card-title")).to_contain_text("Position 1:")
    page.locator(".sd-rejection").click()
    expect(page.locator(".sd-card")).not_to_contain_text("Pinned")
    where = page.locator(".sd-caption").inner_text().partition(":")[0]
    expect(page.locator(".sd-card-title")).to_contain_text(where)


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


def test_a_step_is_credited_with_what_was_kept_of_it(page):
    pause(page)
    page.keyboard.press("Home")
    page.keyboard.press("n")
    page.keyboard.press("ArrowRight")
    expect(page.locator(STAGE)).to_have_attribute("data-kind", "emit")
    kept = sum(state in ("accepted", "lenient") for state in states(page))
    credits = [text.split() for text in page.locator(".sd-credit").all_text_contents() if text]
    assert sum(int(words[0]) for words in credits) == kept
    assert sum(int(words[2]) for words in credits) == 8


def test_the_cycle_is_there_as_a_table(page, trace):
    pause(page)
    page.keyboard.press("Home")
    page.keyboard.press("n")
    page.locator(".sd-table summary").click()
    rows = page.locator(".sd-table tbody tr")
    expect(rows).to_have_count(8)
    verdict = trace.of(Verdict)[0]
    for text in (
        f"{verdict.p:.3f}",
        f"{verdict.u:.3f}",
        "accepted" if verdict.accepted and not verdict.lenient else "leniency" if verdict.accepted else "rejected",
    ):
        expect(rows.first).to_contain_text(text)


def test_presenter_is_large_enough_and_leaves_again(page):
    page.set_viewport_size({"width": 1280, "height": 720})
    pause(page)
    scrub(page, 20)
    page.keyboard.press("p")
    size = page.locator(".sd-block .sd-token").first.evaluate("t => parseFloat(getComputedStyle(t).fontSize)")
    assert size >= 24
    for width, height in ((1280, 720), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("() => document.querySelector('.sd-presenter').scrollWidth <= innerWidth")
        assert page.evaluate(
            "() => [...document.querySelectorAll('.sd-presenter .sd-scroll, .sd-presenter .sd-card')].every((e) => e.scrollHeight <= e.clientHeight + 1)"
        )
        box = page.locator(".sd-written").bounding_box()
        assert box["y"] + box["height"] <= height
    expect(page.locator(".sd-legend")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    assert frame(page) == 21
    page.keyboard.press("Escape")
    expect(page.locator(".sd-legend")).to_be_visible()


def test_rejections_are_walked_both_ways_and_round_the_ends(page, trace):
    pause(page)
    page.keyboard.press("Home")
    there = []
    for _ in range(refused := sum(not v.accepted for v in trace.of(Verdict))):
        page.keyboard.press("n")
        there.append(frame(page))
    assert there == sorted(set(there))
    page.keyboard.press("n")
    assert frame(page) == there[0]
    back = []
    for _ in range(refused):
        page.keyboard.press("Shift+N")
        back.append(frame(page))
    assert back == there[::-1]


def test_tokens_kept_by_leniency_and_refused_ones_say_why(page, trace):
    pause(page)
    lenient = [v for v in trace.of(Verdict) if v.lenient]
    assert len(lenient) > 1
    page.keyboard.press("Home")
    seen = []
    for _ in lenient:
        page.keyboard.press("l")
        expect(page.locator(".sd-caption")).to_contain_text("only thanks to leniency")
        seen.append(frame(page))
    assert len(set(seen)) == len(lenient)
    page.locator(".sd-lenient").click()
    assert frame(page) == seen[0]
    page.keyboard.press("Shift+L")
    assert frame(page) == seen[-1]
    page.keyboard.press("Home")
    page.keyboard.press("n")
    refused = next(v for v in trace.of(Verdict) if not v.accepted)
    expect(page.locator(".sd-caption")).to_contain_text(f"the language model gives it {refused.p:.3f}, the drafter {refused.q:.3f}")


def test_tokens_are_one_tab_stop_and_arrows_walk_among_them(page):
    pause(page)
    page.keyboard.press("Home")
    page.keyboard.press("n")
    at = frame(page)
    stops = page.locator(".sd-block button[tabindex='0']")
    expect(stops).to_have_count(1)
    stops.focus()
    expect(page.locator(".sd-card")).to_contain_text("Position 1")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".sd-card")).to_contain_text("Position 2")
    assert frame(page) == at
    expect(stops).to_have_count(1)


def test_keys_can_be_switched_off(page):
    pause(page)
    page.keyboard.press("Home")
    page.locator(".sd-keys summary").click()
    page.locator(".sd-keys-on").uncheck()
    page.locator(".sd-title").click()
    page.keyboard.press("ArrowRight")
    assert frame(page) == 0


def test_less_motion_is_a_switch_and_loses_no_words(page):
    pause(page)
    scrub(page, 12)
    before = page.locator(".sd-spoken").text_content(), page.locator(".sd-caption").text_content()
    page.locator(".sd-still").check()
    assert page.locator(".sd-block .sd-chip").first.evaluate("c => getComputedStyle(c).transitionDuration") == "0s"
    assert before == (page.locator(".sd-spoken").text_content(), page.locator(".sd-caption").text_content())


def open_file(page: Page, text: str) -> None:
    page.locator(".sd-open").set_input_files({"name": "run.json", "mimeType": "application/json", "buffer": text.encode()})


def test_a_saved_run_opens_again(page, trace):
    events = trace.events[: -len(trace.events) // 2]
    other = Trace([replace(events[0], prompt=NASTY), *events[1:]])
    open_file(page, other.to_json())
    expect(page.locator(".sd-badge")).to_have_text("OPENED")
    expect(page.locator(".sd-prompt")).to_have_text(NASTY)
    pause(page)
    page.keyboard.press("End")
    assert "".join(page.locator(".sd-text [data-cycle]").all_text_contents()) == other.text
    assert page.evaluate("() => window.hacked") is None


def broken_files(trace: Trace) -> dict[str, str]:
    def with_event(kind: str, **changes: object) -> str:
        data = json.loads(trace.to_json())
        next(e for e in data["events"] if e["kind"] == kind).update(changes)
        return json.dumps(data)

    return {
        "hello": "not JSON",
        "[]": "no list of events",
        '{"schema": 9, "events": []}': "schema 9",
        '{"schema": 1, "events": []}': "not a whole run",
        '{"schema": 1, "events": [null]}': "not a whole run",
        with_event("verdict", u="high"): "not a whole run",
        with_event("verdict", top_p=[["x", 1]]): "not a whole run",
        with_event("denoise", canvas=[0] * 100_000): "not a whole run",
        with_event("run", settings={"gamma": 1e9}): "not a whole run",
        with_event("run", settings={"leniency": "0"}): "not a whole run",
        with_event("emit", tokens=None): "not a whole run",
        with_event("verify", fixed_at=[]): "",
    }


def test_files_that_are_no_runs_are_refused_in_words(page, trace):
    for text, sentence in broken_files(trace).items():
        open_file(page, text)
        if sentence:
            expect(page.locator(".sd-open-says")).to_contain_text(sentence)
            expect(page.locator(".sd-badge")).to_have_text("RECORDED")
        else:
            expect(page.locator(".sd-badge")).to_have_text("OPENED")


def test_a_lesson_plays_from_disk_without_a_network(chromium, page, trace, tmp_path):
    """The page's own and the command's are the same; nothing is asked of any network, and no word is run."""
    with page.expect_download() as download:
        page.locator(".sd-lesson").click()
    assert json.dumps(player_value(trace, "recorded"), ensure_ascii=False).replace("<", "\\u003c") in Path(download.value.path()).read_text(
        encoding="utf-8"
    )
    hostile = Trace([replace(trace.events[0], prompt=NASTY), *trace.events[1:]])
    for name, text in (("page", Path(download.value.path()).read_text(encoding="utf-8")), ("command", lesson(hostile))):
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
        context = chromium.new_context(offline=True)
        opened, faults = context.new_page(), []
        opened.on("pageerror", lambda e, faults=faults: faults.append(str(e)))
        opened.on("console", lambda m, faults=faults: faults.append(m.text) if m.type == "error" else None)
        opened.goto(f"file://{tmp_path}/{name}.html")
        opened.wait_for_function("() => Number(document.querySelector('.sd')?.dataset.frame) >= 1")
        opened.keyboard.press("End")
        assert "".join(opened.locator(".sd-text [data-cycle]").all_text_contents()) == trace.text
        if name == "command":
            expect(opened.locator(".sd-prompt")).to_have_text(NASTY)
        expect(opened.locator(".sd-lesson")).to_be_hidden()
        assert opened.evaluate("() => window.hacked") is None
        assert faults == []
        context.close()


def test_a_guess_is_asked_before_the_coins_fall(page, trace):
    pause(page)
    page.keyboard.press("Home")
    page.locator(".sd-predict-on").check()
    page.locator(".sd-speed").select_option("8")
    page.locator(".sd-play").click()
    expect(page.locator(".sd-predict-says")).to_contain_text("how many of these 8 drafts")
    page.wait_for_timeout(400)
    expect(page.locator(STAGE)).to_have_attribute("data-kind", "verify")  # it waits
    assert page.locator(".sd-verdicts .sd-chip[data-state=accepted], .sd-verdicts .sd-chip[data-state=rejected]").count() == 0
    page.locator(".sd-speed").select_option("0.25")
    page.locator(".sd-guesses button").nth(3).click()
    expect(page.locator(".sd-ahead").last).to_be_hidden()  # it would tell
    page.keyboard.press("r")  # to what came of it, and there it stays
    kept = trace.of(Emit)[0].accepted
    expect(page.locator(".sd-predict-says")).to_contain_text(f"You said 3; {kept} were kept")
    expect(page.locator(".sd-score")).to_contain_text(f"off by {abs(3 - kept):.1f} on average")


def test_focus_selection_and_scroll_survive_a_live_run(page):
    """More than 200 events arrive; nothing that a person holds on to is taken away."""
    page.set_viewport_size({"width": 1280, "height": 500})
    page.evaluate("""() => {
      document.querySelector('.sd-scrub').focus();
      const range = document.createRange();
      range.selectNodeContents(document.querySelector('#intro h1'));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      scrollTo(0, 40);
    }""")
    held = "() => [document.activeElement.className, String(getSelection()), scrollY]"
    before = page.evaluate(held)
    page.evaluate("() => document.querySelector('#run').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    expect(page.locator(STAGE)).to_have_attribute("data-source", "live")
    expect(page.locator(STAGE)).to_have_attribute("data-run", "limit", timeout=20_000)
    assert int(page.locator(STAGE).get_attribute("data-frames")) > 200
    assert page.evaluate(held) == before


def test_a_pinned_run_stays_in_step(page, trace):
    """The pinned run shows its own cycle of the same number, in the same phase, while another run is on the stage."""
    pause(page)
    page.locator(".sd-pin").click()
    page.keyboard.press("Home")
    open_file(page, trace.to_json())  # the same run again: both must then show the same
    expect(page.locator(".sd-badge")).to_have_text("OPENED")
    pause(page)
    chips = "table => [...table.querySelectorAll('.sd-chip')].map(c => [c.dataset.state || '', c.textContent])"
    for k in (0, 1, 5, 9, 14, 30, 77):
        scrub(page, k)
        stage, pinned = (page.locator(".sd-block").nth(i).evaluate(chips) for i in (0, 1))
        assert stage == pinned, k
        assert page.locator(".sd-pin-caption").text_content() == page.locator(".sd-caption").text_content()
    other = Trace([event for event in trace.events if getattr(event, "cycle", 1) <= 2])
    open_file(page, other.to_json())
    pause(page)
    page.keyboard.press("End")
    expect(page.locator(".sd-pinned")).to_be_visible()
    page.locator(".sd-pin").click()
    expect(page.locator(".sd-pinned")).to_be_hidden()


def test_the_cycles_of_a_run_are_there_as_csv(page, trace):
    with page.expect_download() as download:
        page.locator(".sd-rounds").click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text(encoding="utf-8").splitlines()))
    emits = trace.of(Emit)
    assert [int(row["accepted"]) for row in rows] == [e.accepted for e in emits]
    assert sum(int(row["tokens"]) for row in rows) == len(trace.tokens)
    assert sum(int(row["by_leniency"]) for row in rows) == sum(v.lenient for v in trace.of(Verdict))
    assert [float(row["verify_ms"]) for row in rows] == [v.ms for v in trace.of(Verify)]
