// The verdict card: why one token was kept or refused, in the trace's own numbers. Refuses to know time.

function drawCard(box, timeline, state, target, pinned, words) {
  const check = target && state.checks[target.column];
  // what the card depends on; the same again needs no new card
  const shown = [timeline, state && state.kind, state && state.index, state && state.rows.length, target && target.row, target && target.column,
                 pinned, check && check.state, check && check.verdict, check && check.at, state && state.emit];
  if (box.drawn && shown.every((part, i) => part === box.drawn[i])) return;
  box.drawn = shown;
  box.replaceChildren();
  if (!target) return drawPhase(box, state, words);
  const extra = target.row === "written" && state.outcome[target.column];
  if (extra && extra.state !== "text") return drawExtra(box, timeline, state, target.column, words);
  const cell = check || lastCell(state, target.column);
  if (!cell) return drawPhase(box, state, words);
  const left = el("div", "sd-card-main");
  left.append(cardTitle(timeline, target.column, cell.token, words));
  box.append(left);
  const verdict = check && check.verdict;
  if (!verdict) left.append(el("p", "", check && check.state === "unexamined" ? words.unexamined : words.ready));
  else {
    if (check.flipped) left.append(el("p", "", sayFlip(timeline, check, props.words.captions)));
    const other = otherwise(check);
    if (check.state === "unexamined") left.append(el("p", "", words.unexamined));
    left.append(el("p", other ? "sd-small" : "", (other ? props.words.captions.asRecorded + " " : "") + verdictSentence(verdict, words)),
      coinBar(other ? { verdict, keep: verdict.keep, state: verdict.accepted ? "accepted" : "rejected" } : check));
    const [first] = verdict.top_p || [];
    if (!verdict.accepted && first && first[0] !== verdict.token)
      left.append(el("p", "", fill(words.wanted, { token: quoted(timeline, first[0]), p: number(first[1]), own: number(verdict.p) })));
    left.append(facts(words, [["p", verdict.p], ["q", verdict.q], ["f", verdict.f], ["tv", verdict.tv]]));
    box.append(choices(timeline, "topP", verdict.top_p, verdict.token, words), choices(timeline, "topQ", verdict.top_q, verdict.token, words));
  }
  if (check) left.append(el("p", "sd-small", fill(words.fixedAt, { step: check.fixedAt })));
  if (pinned) left.append(el("p", "sd-small", words.pinned));
}

// Nothing to judge yet: what is happening now, and why.
function drawPhase(box, state, words) {
  const left = el("div", "sd-card-main");
  left.append(el("p", "", (state && words.phases[state.kind]) || ""), el("p", "sd-hint", words.hint));
  box.append(left);
}

function lastCell(state, column) {
  const row = state.rows[state.rows.length - 1];
  const cell = row && row.cells[column];
  return cell && cell.token !== MASKED ? cell : null;
}

function drawExtra(box, timeline, state, column, words) {
  const { emit, checks } = state;
  const left = el("div", "sd-card-main");
  const token = emit.tokens[column], refused = checks[column] ? quoted(timeline, checks[column].token) : "";
  left.append(checks.length ? cardTitle(timeline, column, token, words) : el("p", "sd-card-title", quoted(timeline, token)));
  const told = checks.some((check) => check.flipped) ? props.words.captions.asRecorded + " " : "";
  left.append(el("p", "", told + fill(checks.length ? words[emit.extra] : words.alone, { token: refused })));
  left.append(facts(words, [["p", emit.p], ["residual", emit.residual]]));
  box.append(left, choices(timeline, "topP", emit.top_p, token, words));
}

function cardTitle(timeline, column, token, words) {
  return el("p", "sd-card-title", fill(words.title, { position: column + 1, token: quoted(timeline, token) }));
}
function verdictSentence(verdict, words) {
  const values = { u: number(verdict.u), keep: number(verdict.keep), margin: number(Math.abs(verdict.keep - verdict.u)),
                   strict: number(strictKeep(verdict)) };
  return fill(!verdict.accepted ? words.failed : verdict.lenient ? words.lenient : words.passed, values);
}
function coinBar(check) {
  const bar = el("div", "sd-coin sd-coin-large");
  bar.setAttribute("aria-hidden", "true");
  bar.append(el("i", "sd-keep"), el("i", "sd-flip"));
  drawCoin(bar, check);
  return bar;
}
function facts(words, pairs) {
  const list = el("dl", "sd-facts");
  for (const [key, value] of pairs) {
    const item = el("div");
    item.append(define(el("dt", "", words[key]), words[key + "Help"]), el("dd", "", number(value)));
    list.append(item);
  }
  return list;
}
function choices(timeline, whose, alternatives, token, words) {
  const box = el("div", "sd-choices");
  box.append(define(el("p", "sd-small", words[whose]), words[whose + "Help"]));
  if (!alternatives.length) box.append(el("p", "sd-small", words.none));
  for (const [id, probability] of alternatives.slice(0, 5)) {
    const row = el("div", "sd-choice" + (id === token ? " sd-chosen" : ""));
    const bar = el("i", "sd-share");
    bar.style.width = 100 * probability + "%";
    const track = el("span", "sd-track");
    track.append(bar);
    row.append(el("span", "sd-choice-token", visible(label(timeline, id))), track, el("span", "sd-choice-p", probability < 0.001 ? "<0.001" : number(probability)));
    box.append(row);
  }
  return box;
}
