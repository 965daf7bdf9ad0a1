// A pinned run under the stage, shown where the run on the stage is: the same cycle, the same phase in it. Refuses to play by itself.

// The frame of `other` that stands beside frame k of `timeline`. Sync rule: same cycle number; within it the same phase, and the same step or
// draft of that phase or its last; a run that has ended stays at its end.
function besides(other, timeline, k) {
  const frame = timeline.frames[k], last = other.frames.length - 1;
  if (!frame || frame.kind === "end") return last;
  if (frame.cycle < 0) return Math.min(k, other.cycles.length ? other.cycles[0].first - 1 : last);
  const cycle = other.cycles[frame.cycle];
  if (!cycle) return last;
  const next = other.cycles[frame.cycle + 1];
  const end = (next ? next.first : last + 1) - 1, frames = other.frames.slice(cycle.first, end + 1);
  const phase = { denoise: (f) => f.kind === "denoise" && f.rows <= frame.rows, verify: (f) => f.kind === "denoise" || f.kind === "verify",
                  verdict: (f) => f.kind !== "emit" && f.kind !== "end" && f.verdicts <= frame.verdicts }[frame.kind] || ((f) => f.kind !== "end");
  let found = 0;
  frames.forEach((f, i) => { if (phase(f)) found = i; });
  return cycle.first + found;
}

function makePin(box, words, states) {
  const pin = { timeline: null, block: null, shape: "" };
  const part = (name) => box.querySelector(".sd-pin-" + name);
  pin.set = (timeline) => {
    pin.timeline = timeline;
    box.hidden = !timeline;
    if (!timeline) return;
    const settings = timeline.run.settings;
    setText(part("title"), words.pin.title);
    setText(part("setting"), settings.plain ? words.plain : fill(words.setting, heardAll(settings, words.written)));
    setText(part("rule"), words.pin.rule);
  };
  pin.show = (timeline, head) => {
    if (!pin.timeline) return;
    const state = stateAt(pin.timeline, besides(pin.timeline, timeline, head));
    const table = box.querySelector("table"), wanted = state.shape.columns + "x" + state.shape.steps;
    setHidden(table, !state.shape.columns);
    if (wanted !== pin.shape) { pin.block = makeBlock(table, state.shape, words); pin.shape = wanted; }
    table.classList.toggle("sd-dense", state.shape.steps > 6);
    drawBlock(pin.block, pin.timeline, state, states, words);
    setText(part("caption"), caption(pin.timeline, state, words.captions));
    setText(part("text"), pin.timeline.cycles.slice(0, state.index + (state.emit ? 1 : 0)).map((cycle) => (cycle.emit ? cycle.emit.text : "")).join(""));
  };
  return pin;
}
