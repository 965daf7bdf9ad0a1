// Draws one state: text, block, legend. Knows nodes; refuses to know time and events.
// All model and visitor text goes through textContent. What a node shows is kept beside it (`drawn`): a frame writes what differs and reads nothing.

function makeChip(tag) {
  const chip = el(tag, "sd-chip");
  chip.append(el("span", "sd-glyph"), el("span", "sd-token"));
  if (tag === "span") chip.setAttribute("role", "img");
  else Object.assign(chip, { type: "button", tabIndex: -1 });
  chip.firstChild.setAttribute("aria-hidden", "true");
  chip.drawn = {};
  return chip;
}
// The one way a state becomes visible: glyph, line, fill and spoken word from the table. `speak(word)` gives the chip's sentence, which follows
// from the state and the token; `marks` are further classes.
function setChip(chip, look, token, speak, marks = "") {
  const before = chip.drawn;
  if (before.look === look && before.token === token && before.marks === marks) return;
  chip.drawn = { look, token, marks };
  if ((before.marks || "") !== marks) chip.className = "sd-chip" + marks;
  if (before.look === look && before.token === token) return;
  if (before.look !== look) {
    Object.assign(chip.dataset, { state: look.name, line: look.line, fill: look.fill });
    setText(chip.firstChild, look.glyph);
  }
  if (before.token !== token) chip.lastChild.textContent = token;
  if (!before.look) chip.style.visibility = chip.style.opacity = "";
  chip.setAttribute("aria-label", speak(look.word));
  if (chip.title) chip.title = chip.getAttribute("aria-label");
}
function hideChip(chip) {
  if (chip.drawn.look === null) return;
  Object.assign(chip.style, chip === document.activeElement ? { opacity: 0 } : { visibility: "hidden" }); // the focus stays where somebody put it
  delete chip.dataset.state;
  delete chip.dataset.fill;
  if (chip.drawn.marks) chip.className = "sd-chip";
  chip.drawn = { look: null, token: chip.drawn.token, marks: "" };
}
// A chip's tooltip is its sentence. Few are ever pointed at, so it is made when one is.
function tooltip(event) {
  const chip = event.target.closest && event.target.closest(".sd-chip[data-state]");
  if (chip && !chip.title) chip.title = chip.getAttribute("aria-label");
}

function makeLegend(box, states, sample) {
  for (const look of Object.values(states)) {
    const item = el("span", "sd-legend-item");
    const chip = makeChip("span");
    setChip(chip, look, look.name === "masked" ? "" : sample, (word) => word);
    const word = el("span", "", look.word);
    item.title = look.help;
    item.append(chip, word);
    box.append(item);
  }
}

// One table per block shape. Rows: denoising steps, check, coins, verdicts, written. Columns never change width.
function makeBlock(table, shape, words) {
  table.replaceChildren();
  const { columns, steps } = shape;
  const row = (className, name) => {
    const tr = el("tr", className);
    const head = el(name ? "th" : "td", "", name);
    if (name) head.scope = "row";
    tr.append(head);
    table.append(tr);
    return tr;
  };
  const chips = (tr, count, tag) => Array.from({ length: count }, () => {
    const td = el("td"), chip = makeChip(tag);
    hideChip(chip);
    td.append(chip);
    tr.append(td);
    return chip;
  });
  const header = row("sd-head", "");
  for (let i = 1; i <= columns + 1; i++) {
    const th = el("th", "", i <= columns ? String(i) : words.bonusColumn);
    th.scope = "col";
    header.append(th);
  }
  const drafts = Array.from({ length: steps + 1 }, (_, s) => {
    const tr = row("sd-draft", s ? fill(words.step, { step: s }) : words.noise);
    const made = { tr, chips: chips(tr, columns, "span"), credit: el("td", "sd-credit"), row: null };
    made.credit.append(el("span"));
    tr.append(made.credit);
    return made;
  });
  const check = row("sd-check", words.verifyRow), cell = el("td"), bracket = el("div", "sd-bracket");
  cell.colSpan = columns;
  cell.append(bracket);
  check.append(cell);
  define(check.firstChild, words.verifyHelp);
  const coinRow = row("sd-coins", words.coinRow);
  const coins = Array.from({ length: columns }, () => {
    const td = el("td"), bar = el("div", "sd-coin");
    bar.setAttribute("aria-hidden", "true");
    bar.append(el("i", "sd-keep"), el("i", "sd-flip"));
    td.append(bar);
    coinRow.append(td);
    return bar;
  });
  const checks = chips(row("sd-verdicts", words.verdictRow), columns, "button");
  const written = chips(row("sd-written", words.writtenRow), columns + 1, "button");
  return { table, drafts, check, bracket, coins, checks, written, verify: null, emit: null, labels: { checks: [], written: [] }, stop: null };
}

const MOST_STEPS = 7; // rows of drafts that the presenter has room for: it shows the newest
function drawBlock(block, timeline, state, states, words) {
  const labelled = (cells) => rowLabels(timeline, cells.map((cell) => (cell.state === "masked" ? null : cell.token)));
  const draw = (chip, i, cell, token, marks) => {
    if (!cell) return hideChip(chip);
    setChip(chip, states[cell.state], token, (word) => fill(token ? words.chip : words.chipEmpty, { position: i + 1, token, word }), marks);
  };
  const rows = new Map(state.rows.map((row) => [row.step, row])), latest = state.rows[state.rows.length - 1];
  const from = Math.max(0, Math.min(latest ? latest.step - MOST_STEPS + 1 : 0, block.drafts.length - MOST_STEPS));
  block.drafts.forEach((made, r) => {
    const { tr, chips, credit } = made, row = rows.get(r) || null;
    tr.classList.toggle("sd-now", state.kind === "denoise" && row !== null && row === latest);
    tr.classList.toggle("sd-waiting", !row);
    tr.classList.toggle("sd-aside", r < from || r >= from + MOST_STEPS);
    if (made.row !== row) {
      const labels = row ? labelled(row.cells) : [];
      chips.forEach((chip, i) => draw(chip, i, row && row.cells[i], labels[i], row && row.cells[i] && !row.cells[i].fresh ? " sd-carried" : ""));
      made.row = row;
    }
    const worth = row && row.step && state.credits ? state.credits.get(row.step) || { fixed: 0, kept: 0 } : null;
    setText(credit.firstChild, worth ? fill(words.credit, worth) : "");
    define(credit, worth ? fill(words.creditHelp, worth) : "");
  });
  const done = state.verify;
  block.check.classList.toggle("sd-waiting", !done);
  block.check.classList.toggle("sd-now", state.kind === "verify");
  setText(block.bracket, done ? fill(words.bracket, { n: done.tokens.length, ms: milliseconds(done.ms) }) : state.rows.length ? words.bracketWaiting : "");
  if (block.verify !== done) [block.verify, block.labels.checks] = [done, labelled(state.checks)];
  if (block.emit !== state.emit) [block.emit, block.labels.written] = [state.emit, labelled(state.outcome)];
  const now = state.kind === "verdict" ? lastVerdict(state) : -1;
  block.checks.forEach((chip, i) => {
    const check = state.checks[i];
    draw(chip, i, check, block.labels.checks[i], (i === now ? " sd-now" : "") + (check && check.flipped ? " sd-flipped-verdict" : ""));
    drawCoin(block.coins[i], check);
  });
  block.written.forEach((chip, i) => draw(chip, i, state.outcome[i], block.labels.written[i], ""));
}
// Is a recorded verdict looked at under another leniency? Then its keep probability, f and the rest are those of the recording.
const otherwise = (check) => Boolean(check.verdict && check.at !== null);
// "true", "false", or "" where the examination would not come to it: under the leniency that is looked at.
const keptNow = ({ state }) => (state === "unexamined" ? "" : String(state !== "rejected"));
// The coin and the keep probability of a check, if it came to it; an outline where only the recorded leniency's is known.
function drawCoin(bar, check) {
  const verdict = (check && check.verdict) || null, keep = verdict && check.keep, kept = verdict ? keptNow(check) : "";
  if (bar.drawn === verdict && bar.keep === keep && bar.dataset.kept === kept) return;
  Object.assign(bar, { drawn: verdict, keep });
  bar.classList.toggle("sd-other", Boolean(verdict) && keep === null);
  bar.classList.toggle("sd-flipped", Boolean(verdict));
  bar.dataset.kept = kept;
  if (!verdict) return;
  bar.firstChild.style.width = 100 * (keep ?? verdict.keep) + "%";
  bar.lastChild.style.left = 100 * verdict.u + "%";
}

// A cycle's text, with the same mark as on the stage for what leniency kept; tokens that split a character leave it unmarked.
function writeCycle(span, timeline, cycle, text) {
  const parts = [];
  let at = 0;
  for (const verdict of text ? cycle.verdicts.slice(0, cycle.emit.accepted) : []) {
    const piece = label(timeline, verdict.token);
    if (!text.startsWith(piece, at)) break;
    parts.push(verdict.lenient ? el("span", "sd-by-leniency", piece) : piece);
    at += piece.length;
  }
  span.replaceChildren(...parts, text.slice(at));
}
// The text: the prompt, then one span per cycle. `ahead` spans are decoded but not yet played. → did anything change?
function drawText(box, timeline, state) {
  const wanted = timeline.cycles.length + 1, before = box.children.length;
  if (!before) box.append(el("span", "sd-prompt"));
  while (box.children.length > wanted) box.lastChild.remove();
  while (box.children.length < wanted) box.append(Object.assign(el("span"), { drawn: "" }));
  let changed = before !== wanted;
  setText(box.firstChild, timeline.run ? timeline.run.prompt : "");
  timeline.cycles.forEach((cycle, c) => {
    const span = box.children[c + 1], text = cycle.emit ? cycle.emit.text : "";
    const written = c < state.index || (c === state.index && state.emit);
    const className = (written ? "sd-past" : "sd-ahead") + (c === state.index ? " sd-here" : "");
    if (span.drawn === text && span.className === className) return;
    if (span.drawn !== text) writeCycle(span, timeline, cycle, (span.drawn = text));
    if (span.className !== className) span.className = className;
    span.dataset.cycle = c;
    changed = true;
  });
  return changed;
}
// Scrolls to `node`, but not away from where a person has scrolled to, until they see it again or go elsewhere by hand.
function keepInView(box, node, byHand) {
  if (!node) return;
  const top = node.offsetTop, seen = top >= box.scrollTop && top + node.offsetHeight <= box.scrollTop + box.clientHeight;
  if (!seen && !byHand && box.scrollTop !== (box.leftAt ?? box.scrollTop)) return;
  if (!seen) box.scrollTop = top - box.clientHeight / 2;
  box.leftAt = box.scrollTop;
}
