"""What a person does with a run: credits, pins, guesses, files and the lesson without a network."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page, expect
from test_player import STAGE, frame, pause, scrub
from test_whatif import states

from sdiff.trace import Emit, Trace, Verdict, Verify
from sdiff.ui.lesson import lesson
from sdiff.ui.live import player_value

NASTY = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=2> ${window.hacked=3} {{window.hacked=4}}"


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
    page.locator(".sd-speed").select_option("6")
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
