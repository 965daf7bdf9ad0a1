// Predict, then reveal: before the coins fall a person says how many drafts will be kept. Refuses to know time.
// A guess belongs to a cycle of a run; the score is how far the guesses were off, and how far "the mean so far" would have been.

function makePredictor() {
  const p = { on: false, guesses: new Map() };
  p.reset = () => p.guesses.clear();
  // May frame k be shown by the player itself, or does it wait for a guess?
  p.waits = (timeline, k) => p.on && timeline.frames[k].kind === "verify" && !p.guesses.has(timeline.frames[k].cycle);
  p.guess = (cycle, kept) => { if (!p.guesses.has(cycle)) p.guesses.set(cycle, kept); };
  p.score = (timeline, until) => {
    let n = 0, off = 0, blind = 0, seen = 0, keptBefore = 0;
    for (const cycle of timeline.cycles.slice(0, until + 1)) {
      if (!cycle.emit || !cycle.verdicts.length) continue;
      const kept = cycle.emit.accepted;
      if (p.guesses.has(cycle.index)) {
        n += 1;
        off += Math.abs(p.guesses.get(cycle.index) - kept);
        blind += Math.abs((seen ? keptBefore / seen : cycle.verify.tokens.length / 2) - kept);
      }
      seen += 1;
      keptBefore += kept;
    }
    return { n, off: n ? off / n : 0, blind: n ? blind / n : 0 };
  };
  return p;
}

function drawPredict(predictor, timeline, state, words, answer) {
  const box = $(".sd-predict"), asking = Boolean(state) && state.kind === "verify" && predictor.on;
  setHidden(box, !predictor.on);
  if (box.hidden) return;
  const guessed = predictor.guesses.get(state ? state.index : -1), buttons = $(".sd-guesses");
  const revealed = Boolean(state && state.emit);
  const wanted = asking && guessed === undefined ? state.checks.length + 1 : 0;
  if (buttons.children.length !== wanted) {
    buttons.replaceChildren(...Array.from({ length: wanted }, (_, kept) => {
      const button = el("button", "", String(kept));
      button.type = "button";
      button.setAttribute("aria-label", fill(words.guess, { kept }));
      button.onclick = () => answer(kept);
      return button;
    }));
  }
  const score = predictor.score(timeline, state ? (revealed ? state.index : state.index - 1) : -1);
  const shown = (x) => x.toFixed(1);
  const says = !state ? "" : asking && guessed === undefined ? fill(words.ask, { n: state.checks.length })
    : guessed === undefined ? words.wait
    : !revealed ? fill(state.kind === "end" ? words.cut : words.guessed, { guess: guessed })
    : fill(words.revealed, { guess: guessed, kept: timeline.cycles[state.index].emit.accepted });
  setText($(".sd-predict-says"), says);
  define($(".sd-score"), score.n ? words.scoreHelp : "");
  setText($(".sd-score"), score.n ? fill(words.score, { n: score.n, off: shown(score.off), blind: shown(score.blind) }) : "");
}
