// Knows events and frames; refuses to know the DOM, clocks and the page. Everything a person sees at frame k is
// stateAt(timeline, k, whatIf), a pure function of the events, whatever path led to k. `whatIf`: a leniency to
// judge the recorded coins by, or null for the verdicts as they fell.

const MASKED = -1;
const PACE = { run: 600, prefill: 700, denoise: 350, verify: 600, verdict: 220, emit: 700, token: 120, end: 0 }; // ms at 1x

function newTimeline() {
  return { source: "recorded", name: "", run: null, end: null, pieces: {}, frames: [], cycles: [] };
}

// Adds one event. Frames point into cycles by counts, so they stay true while the cycle grows.
function append(timeline, event) {
  const add = {
    source: () => { timeline.source = event.source; timeline.name = event.name || ""; },
    run: () => { timeline.run = event; pushFrame(timeline, "run", event); },
    pieces: () => Object.assign(timeline.pieces, event.pieces),
    prefill: () => pushFrame(timeline, "prefill", event),
    denoise: () => {
      if (!event.canvas.length) return; // nothing is drafted: plain decoding, or the last token before the limit
      const cycle = cycleOf(timeline, event);
      cycle.rows.push(drawnRow(event, cycle.denoise[cycle.denoise.length - 1]));
      cycle.denoise.push(event);
      pushFrame(timeline, "denoise", event);
    },
    verify: () => {
      const cycle = cycleOf(timeline, event);
      cycle.verify = event;
      if (event.tokens.length) pushFrame(timeline, "verify", event);
    },
    verdict: () => { cycleOf(timeline, event).verdicts.push(event); pushFrame(timeline, "verdict", event); },
    emit: () => {
      const cycle = cycleOf(timeline, event);
      cycle.emit = event;
      pushFrame(timeline, cycle.verdicts.length ? "emit" : "token", event);
    },
    end: () => { timeline.end = event; pushFrame(timeline, "end", event); },
  }[event.kind];
  if (add) add();
}

function cycleOf(timeline, event) {
  const last = timeline.cycles[timeline.cycles.length - 1];
  if (last && last.number === event.cycle) return last;
  const cycle = { number: event.cycle, index: timeline.cycles.length, first: timeline.frames.length,
                  denoise: [], rows: [], verify: null, verdicts: [], emit: null };
  timeline.cycles.push(cycle);
  return cycle;
}

function pushFrame(timeline, kind, event) {
  const cycle = timeline.cycles[timeline.cycles.length - 1];
  timeline.frames.push({
    kind, at: event.at, ms: event.ms || 0, cycle: cycle ? cycle.index : -1, rows: cycle ? cycle.denoise.length : 0,
    verified: Boolean(cycle && cycle.verify), verdicts: cycle ? cycle.verdicts.length : 0,
    emitted: Boolean(cycle && cycle.emit),
  });
}

// The whole picture at frame k.
function stateAt(timeline, k, whatIf = null) {
  const frame = timeline.frames[k];
  if (!frame) return null;
  const cycle = timeline.cycles[frame.cycle] || null;
  const state = { kind: frame.kind, frame: k, at: frame.at, cycle: cycle ? cycle.number : 0, index: frame.cycle,
                  shape: shapeOf(timeline, cycle), rows: [], verify: null, checks: [], credits: null, outcome: [], emit: null,
                  end: null };
  if (frame.kind === "end") state.end = timeline.end;
  if (!cycle) return state;
  state.rows = cycle.rows.slice(0, frame.rows);
  if (frame.verified) state.verify = cycle.verify;
  if (frame.emitted) state.emit = cycle.emit;
  if (state.verify) state.checks = checksOf(cycle, frame, whatIf, timeline.run.settings.rule);
  if (state.emit) [state.outcome, state.credits] = [outcomeOf(cycle), creditsOf(state.checks)];
  return state;
}

// Columns and rows of the block: those of the run's first block at least, so that a short last block moves nothing.
function shapeOf(timeline, cycle) {
  const settings = (timeline.run && timeline.run.settings) || {};
  if (settings.plain) return { columns: 0, steps: 0 };
  const first = timeline.cycles[0] && timeline.cycles[0].denoise[0], here = cycle && cycle.denoise[0];
  return { columns: Math.max(settings.gamma || 0, here ? here.canvas.length : 0),
           steps: Math.max(first ? first.steps : settings.steps || 0, here ? here.steps : 0) };
}

// A step as it is drawn. Made once per event: whoever draws can tell by the object alone that nothing changed.
function drawnRow(event, before) {
  return {
    step: event.step, steps: event.steps, ms: event.ms,
    cells: event.canvas.map((token, i) => ({
      state: token === MASKED ? "masked" : event.fixed[i] ? "ready" : "noisy",
      token, fresh: !before || before.canvas[i] !== token,
    })),
  };
}

function checksOf(cycle, frame, whatIf, rule) {
  const seen = cycle.verdicts.slice(0, frame.verdicts);
  let closed = frame.emitted || seen.some((v) => !v.accepted), refused = false;
  return cycle.verify.tokens.map((token, i) => {
    const verdict = seen[i] || null;
    const would = verdict && keptAt(verdict, whatIf);
    const flipped = Boolean(verdict) && !refused && would !== verdict.accepted;
    const state = !verdict || refused ? (closed ? "unexamined" : "ready")
      : !would ? "rejected" : strictlyKept(verdict) ? "accepted" : "lenient";
    if (state === "rejected") refused = closed = true;
    const keep = !verdict || whatIf === null ? verdict && verdict.keep : keepAt(rule, verdict, whatIf);
    return { state, token, verdict, keep, flipped, at: whatIf, fixedAt: cycle.verify.fixed_at[i] };
  });
}

// `flip` (measures.flip_leniency): the leniency above which this coin keeps the draft; 0: at any.
const canFlip = (verdict) => typeof verdict.flip === "number";
const keptAt = (verdict, whatIf) => (whatIf === null || !canFlip(verdict) ? verdict.accepted : verdict.flip === 0 || whatIf > verdict.flip);
// The keep probability at another leniency; null for a rule whose f a verdict's own numbers do not tell in one line (acceptance.py).
function keepAt(rule, { p, q, tv }, leniency) {
  const share = rule === "lossless" ? 0 : rule === "tv" ? leniency : rule === "tv_budget" ? (tv > 0 ? Math.min(1, leniency / tv) : 1) : null;
  return share === null ? null : q > p ? (p + share * (q - p)) / q : 1;
}
const strictlyKept = (verdict) => (canFlip(verdict) ? verdict.flip === 0 : verdict.accepted && !verdict.lenient);

// The recorded verdicts that fall otherwise at this leniency, the first one and its frame; up to the first the run would be the same.
function flips(timeline, whatIf) {
  let first = null;
  const all = [];
  for (const cycle of timeline.cycles) for (const verdict of cycle.verdicts) {
    if (keptAt(verdict, whatIf) === verdict.accepted) continue;
    all.push(verdict);
    first = first || { cycle, verdict, frame: cycle.first + cycle.denoise.length + verdict.position };
  }
  return { first, all };
}

// Step → what it was worth: of the drafts that took their final value in it, how many were kept.
function creditsOf(checks) {
  const credits = new Map();
  for (const { fixedAt, state } of checks) {
    const { fixed, kept } = credits.get(fixedAt) || { fixed: 0, kept: 0 };
    credits.set(fixedAt, { fixed: fixed + 1, kept: kept + (state === "accepted" || state === "lenient") });
  }
  return credits;
}

// What the cycle wrote: kept drafts, then the verifier's own token in the column where it belongs.
function outcomeOf(cycle) {
  const { tokens, accepted, extra } = cycle.emit;
  return tokens.map((token, i) => ({ state: i < accepted || !extra ? "text" : extra, token }));
}

// Frame indices a person steps to.
function seekFrame(timeline, from, direction, wanted) {
  const last = timeline.frames.length - 1;
  for (let k = from + direction; k >= 0 && k <= last; k += direction) if (wanted(timeline.frames[k], k)) return k;
  return direction < 0 ? 0 : Math.max(last, 0);
}
function cycleFrame(timeline, from, direction) {
  const here = timeline.frames[from];
  const cycle = here && timeline.cycles[here.cycle];
  if (direction < 0 && cycle && from > cycle.first) return cycle.first;
  const next = timeline.cycles[(here ? here.cycle : -1) + direction];
  return next ? next.first : direction < 0 ? 0 : Math.max(timeline.frames.length - 1, 0);
}
// The nearest frame in `direction` whose verdict is `wanted`; frame `from` where there is none.
function verdictFrame(timeline, from, direction, wanted) {
  const fits = (frame) => frame.kind === "verdict" && wanted(timeline.cycles[frame.cycle].verdicts[frame.verdicts - 1]);
  const found = timeline.frames.flatMap((frame, k) => (fits(frame) ? [k] : []));
  return (direction > 0 ? found.find((k) => k > from) ?? found[0] : found.findLast((k) => k < from) ?? found.at(-1)) ?? from; // round the ends
}

// How much slower than the decoder's own clock the cycle around frame k is shown at `speed`; 0 when unknown.
function slowMotion(timeline, k, speed) {
  const frame = timeline.frames[k];
  const cycle = frame && timeline.cycles[frame.cycle];
  if (!cycle) return 0;
  const next = timeline.cycles[cycle.index + 1];
  const frames = timeline.frames.slice(cycle.first, next ? next.first : undefined);
  const before = timeline.frames[cycle.first - 1];
  const measured = frames[frames.length - 1].at - (before ? before.at : 0);
  const shown = frames.reduce((sum, f) => sum + PACE[f.kind], 0) / speed;
  return measured > 0 ? shown / measured : 0;
}
