"""A trace small enough to count by hand."""

from __future__ import annotations

from sdiff import trace as t


def verdict(cycle: int, position: int, accepted: bool) -> t.Verdict:
    u = 0.1 if accepted else 0.9
    return t.Verdict(cycle=cycle, position=position, token=1, p=0.5, q=1.0, f=0.5, u=u, keep=0.5, accepted=accepted, lenient=False, tv=0.5)


def small_trace() -> t.Trace:
    """Two blocks of three: the first keeps one draft, the second keeps all and gets its bonus."""
    run = t.Run(prompt="p", prompt_tokens=(1,), settings={}, models={}, machine={}, lossless=True)
    events: list[t.Event] = [run, t.Prefill(tokens=1, ms=10, at=10)]
    for cycle, kept in ((1, 1), (2, 3)):
        at = 10 + 100 * cycle
        events.append(t.Verify(cycle=cycle, anchor=1, tokens=(1, 1, 1), fixed_at=(1, 1, 1), draft_ms=20 * cycle, ms=40, at=at))
        events += [verdict(cycle, i, i <= kept) for i in range(1, min(kept + 1, 3) + 1)]
        extra = "bonus" if kept == 3 else "correction"
        events.append(t.Emit(cycle=cycle, tokens=(1,) * (kept + 1), accepted=kept, extra=extra, text="x", ms=2, at=at))
    return t.Trace(events)
