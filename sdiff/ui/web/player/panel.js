// What stands below the stage: leniency after the fact, and the cycle as a table. Refuses to know time.

const MOST_NAMED = 16; // flipped tokens named in the sentence

function drawWhatIf(timeline, whatIf, words) {
  const box = $(".sd-whatif"), verdicts = timeline.cycles.flatMap((cycle) => cycle.verdicts);
  setHidden(box, !verdicts.length);
  setHidden($(".sd-lenient"), !verdicts.some((verdict) => verdict.lenient));
  if (box.hidden) return;
  const able = verdicts.every(canFlip);
  $(".sd-whatif-slider").disabled = !able;
  const own = timeline.run.settings.leniency || 0, at = whatIf === null ? own : whatIf;
  $(".sd-whatif-slider").value = at;
  setText($(".sd-whatif-value"), "λ = " + at.toFixed(2));
  const lenient = verdicts.filter((verdict) => verdict.lenient).length;
  const told = (lenient ? fill(words.some, { lenient, of: verdicts.length }) + " " : "") + words.own;
  const { first, all } = whatIf === null ? { first: null, all: [] } : flips(timeline, whatIf);
  $(".sd-whatif-go").hidden = !first;
  $(".sd-whatif-reset").hidden = whatIf === null;
  setText($(".sd-whatif-says"), !able ? words.unable : whatIf === null ? told : !first ? words.same : fill(words.flips, {
    cycle: first.cycle.number, position: first.verdict.position, token: quoted(timeline, first.verdict.token), count: all.length, of: verdicts.length,
    tokens: all.slice(0, MOST_NAMED).map(({ token }) => quoted(timeline, token)).join(" ") + (all.length > MOST_NAMED ? " …" : ""),
    now: first.verdict.accepted ? words.refused : words.kept, flip: number(first.verdict.flip),
  }));
}

// A mark over the slider where the coin that has just fallen flips.
function drawFlip(state, words) {
  const mark = $(".sd-whatif-mark"), { verdict } = (state && state.kind === "verdict" && state.checks[lastVerdict(state)]) || {};
  setHidden(mark, !verdict || !canFlip(verdict) || verdict.flip <= 0 || verdict.flip >= 1);
  if (mark.hidden) return setAttribute($(".sd-whatif-slider"), "aria-description", "");
  mark.style.setProperty("--at", verdict.flip);
  setAttribute($(".sd-whatif-slider"), "aria-description", fill(words.mark, { flip: number(verdict.flip) }));
}

// One row per draft of the cycle on the stage, in the trace's own numbers. A row is made anew only when its verdict is.
function drawCycleTable(timeline, state, states, words) {
  const details = $(".sd-table");
  setHidden(details, !state || !state.checks.length);
  if (details.hidden || !details.open) return;
  const table = details.querySelector("table"), columns = words.columns.length;
  const tr = (values) => {
    const row = el("tr");
    row.append(...values.map((value, i) => el(i ? "td" : "th", "", value)));
    row.firstChild.scope = "row";
    return row;
  };
  if (table.drawn !== state.verify) {
    const head = el("thead"), body = el("tbody");
    const names = el("tr");
    names.append(...words.columns.map(([name, help]) => Object.assign(define(el("th", "", name), help), { scope: "col" })));
    head.append(names);
    body.append(...state.checks.map(() => el("tr")), el("tr")); // the last one: what the verifier wrote itself
    table.replaceChildren(head, body);
    table.drawn = state.verify;
  }
  const body = table.tBodies[0], { emit } = state, own = emit && emit.extra ? emit.tokens.length - 1 : -1;
  if (body.drawn !== emit) {
    const last = own < 0 ? [] : [String(own + 1), visible(label(timeline, emit.tokens[own])), ...Array(columns - 3).fill(""), states[emit.extra].word];
    body.lastChild.replaceWith(last.length ? tr(last) : el("tr"));
    body.drawn = emit;
  }
  state.checks.forEach((check, i) => {
    const { state: name, token, verdict, fixedAt, keep } = check, old = body.rows[i];
    if (old.drawn && old.drawn.name === name && old.drawn.verdict === verdict && old.drawn.keep === keep) return;
    const told = (value) => (value === null ? "" : number(value));
    // under another leniency f and the keep probability are that one's, where a verdict's own numbers tell them
    const f = verdict && (otherwise(check) ? (keep === null || keep === 1 ? null : keep * verdict.q) : verdict.f);
    const figures = verdict ? [verdict.p, verdict.q, f, verdict.u, keep].map(told) : ["", "", "", "", ""];
    const flip = verdict && canFlip(verdict) ? (verdict.flip >= 1 ? words.never : number(verdict.flip)) : "";
    const row = tr([String(i + 1), visible(label(timeline, token)), String(fixedAt), ...figures, flip, states[name].word]);
    old.replaceWith(Object.assign(row, { drawn: { name, verdict, keep } }));
  });
}
