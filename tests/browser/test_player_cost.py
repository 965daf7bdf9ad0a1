"""What a picture costs: how many nodes of the page a frame touches, and how long a jump takes in a very large block."""

from __future__ import annotations

import itertools

import pytest
from fake_pair import PATIENCE
from playwright.sync_api import Page, expect
from test_player import pause, scrub
from test_player_tools import open_file

from sdiff.trace import MASKED, Denoise, Emit, End, Pieces, Prefill, Run, Trace, Verdict, Verify

COLUMNS = 256


def large_run(columns: int = COLUMNS, frames: int = 512) -> Trace:
    """One cycle after another of `columns` drafts, until there are `frames` pictures."""
    events: list = [Run(prompt="x", prompt_tokens=(0,), settings={"gamma": columns, "steps": 2}, models={}, machine={}, lossless=True),
                    Pieces(pieces={0: " a", 1: " b"}), Prefill(tokens=1, ms=1.0)]  # fmt: skip
    pictures, cycle, at = 2, 0, 1.0
    while pictures < frames:
        cycle += 1
        at += 1
        rows = [(MASKED,) * columns, (0,) * columns, tuple(i % 2 for i in range(columns))]
        events += [
            Denoise(cycle=cycle, step=s, steps=2, canvas=row, fixed=(s == 2,) * columns, ms=1.0, at=at) for s, row in enumerate(rows)
        ]
        events.append(Verify(cycle=cycle, anchor=0, tokens=rows[2], fixed_at=(2,) * columns, draft_ms=2.0, ms=1.0, at=at))
        kept = [Verdict(cycle=cycle, position=i + 1, token=rows[2][i], p=0.5, q=0.5, f=0.5, u=0.1, keep=1.0, accepted=True, lenient=False, tv=0.1, at=at)
                for i in range(min(columns, frames - pictures))]  # fmt: skip
        events += [*kept, Emit(cycle=cycle, tokens=rows[2], accepted=columns, extra="bonus", text="ab" * (columns // 2), ms=0.1, at=at)]
        pictures += len(rows) + 2 + len(kept)
    return Trace([*events, End(reason="limit", text="", tokens=(), stats={}, at=at)])


PICTURES = """() => new Promise(done => {
  const times = [];
  const next = now => { times.push(now); times.length < 60 ? requestAnimationFrame(next) : done(times); };
  requestAnimationFrame(next);
})"""


def between_pictures(page: Page) -> float:
    """Median milliseconds between two pictures of the browser."""
    gaps = sorted(b - a for a, b in itertools.pairwise(page.evaluate(PICTURES)))
    return gaps[len(gaps) // 2]


@pytest.fixture
def large(page) -> Page:
    """A page with a block of 256 columns and 512 frames on the stage, at rest."""
    open_file(page, large_run().to_json())
    expect(page.locator(".sd-badge")).to_have_text("OPENED")
    pause(page)
    return page


CHANGES = """frames => {
  const stage = document.querySelector('#player .sd'), scrub = stage.querySelector('.sd-scrub');
  const observer = new MutationObserver(() => {});
  const show = k => { scrub.value = k; scrub.dispatchEvent(new Event('input', {bubbles: true})); };
  show(frames[0]);
  observer.observe(stage, {subtree: true, childList: true, attributes: true, characterData: true});
  return frames.slice(1).map(k => { show(k); return observer.takeRecords().length; });
}"""


def changes(page: Page, *frames: int) -> list[int]:
    """How many changes of the page each frame needs behind the one before it."""
    return page.evaluate(CHANGES, list(frames))


def test_a_frame_changes_only_the_nodes_that_differ(large):
    """Noise, two steps, the check and a few verdicts of the second cycle: a step touches its own row, a verdict its own column."""
    first = 2 + 3 + 1 + COLUMNS + 1  # run and prompt, then the first cycle
    noise, one, two, check, *verdicts = changes(large, *range(first - 1, first + 4 + 12))
    assert noise < 16 * COLUMNS  # the block of the cycle before is taken away
    for step in (one, two):
        assert step < 8 * COLUMNS
    assert check < 7 * COLUMNS
    assert max(verdicts) < 30


def test_the_same_frame_again_changes_nothing(large):
    assert max(changes(large, 20, 20, 20)) <= 1
    assert max(changes(large, 20, 21, 20, 21)[1:]) < 30


def test_a_very_large_block_still_scrubs_at_once(large):
    """256 columns and 512 frames: a jump is drawn at once, and playing costs the browser no pictures that it has at rest."""
    spent = large.evaluate("""() => {
      const scrub = document.querySelector('.sd-scrub'), times = [];
      for (const k of [500, 3, 260, 510, 100, 400, 20, 300]) {
        const began = performance.now();
        scrub.value = k;
        scrub.dispatchEvent(new Event('input', {bubbles: true}));
        document.querySelector('.sd-written').getBoundingClientRect();
        times.push(performance.now() - began);
      }
      return times.sort((a, b) => a - b)[4];
    }""")
    assert spent < PATIENCE * 80
    scrub(large, 260)
    at_rest = between_pictures(large)
    large.locator(".sd-speed").select_option("6")
    large.locator(".sd-play").click()
    assert between_pictures(large) < max(PATIENCE * 100, 2.5 * at_rest)
