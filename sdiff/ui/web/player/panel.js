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

// One row per draft of the cycle on the stage, in the trace's own numbers. A row is made anew only when its verdict is.
function drawCycleTable(timeline, state, states, words) {
  const details = $(".sd-table");
  setHidden(details, !state || !state.checks.length);
  if (details.hidden || !details.open) return;
  const table = details.querySelector("table");
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
    body.append(...state.checks.map(() => el("tr")));
    table.replaceChildren(head, body);
    table.drawn = state.verify;
  }
  state.checks.forEach(({ state: name, token, verdict, fixedAt }, i) => {
    const old = table.tBodies[0].rows[i];
    if (old.drawn && old.drawn.name === name && old.drawn.verdict === verdict) return;
    const figures = verdict ? [verdict.p, verdict.q, verdict.f, verdict.u, verdict.keep].map(number) : ["", "", "", "", ""];
    const flip = verdict && canFlip(verdict) ? (verdict.flip >= 1 ? words.never : number(verdict.flip)) : "";
    const row = tr([String(i + 1), visible(label(timeline, token)), String(fixedAt), ...figures, flip, states[name].word]);
    old.replaceWith(Object.assign(row, { drawn: { name, verdict } }));
  });
}
