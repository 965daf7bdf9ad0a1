// Draws one state: text, block, legend. Knows nodes; refuses to know time and events.
// All model and visitor text goes through textContent.


function makeChip(tag) {
  const chip = el(tag, "sd-chip");
  chip.append(el("span", "sd-glyph"), el("span", "sd-token"));
  if (tag === "span") chip.setAttribute("role", "img");
  chip.firstChild.setAttribute("aria-hidden", "true");
  return chip;
}
// The one way a state becomes visible: glyph, line, fill and spoken word from the table.
function setChip(chip, look, token, spoken) {
  const key = look.name + "\u0000" + token + "\u0000" + spoken;
  if (chip.dataset.key === key) return;
  chip.dataset.key = key;
  chip.dataset.state = look.name;
  chip.dataset.line = look.line;
  chip.dataset.fill = look.fill;
  setText(chip.firstChild, look.glyph);
  setText(chip.lastChild, token);
  chip.setAttribute("aria-label", spoken);
  chip.title = spoken;
  chip.style.visibility = "";
}
const hideChip = (chip) => { chip.style.visibility = "hidden"; delete chip.dataset.key; delete chip.dataset.state; };

function makeLegend(box, states) {
  for (const look of Object.values(states)) {
    const item = el("span", "sd-legend-item");
    const chip = makeChip("span");
    setChip(chip, look, look.name === "masked" ? "" : "token", look.word);
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
    const made = { tr, chips: chips(tr, columns, "span"), credit: el("td", "sd-credit") };
    tr.append(made.credit);
    return made;
  });
  const check = row("sd-check", words.verifyRow), cell = el("td"), bracket = el("div", "sd-bracket");
  cell.colSpan = columns;
  cell.append(bracket);
  check.append(cell);
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
  for (const chip of [...checks, ...written]) chip.type = "button";
  return { table, drafts, check, bracket, coins, checks, written };
}

function drawBlock(block, timeline, state, states, words) {
  const labelled = (cells) => rowLabels(timeline, cells.map((cell) => (cell.state === "masked" ? null : cell.token)));
  const draw = (chip, i, cell, token) => {
    if (!cell) return hideChip(chip);
    const look = states[cell.state];
    setChip(chip, look, token, fill(token ? words.chip : words.chipEmpty, { position: i + 1, token, word: look.word }));
    chip.classList.toggle("sd-carried", cell.fresh === false);
  };
  block.drafts.forEach(({ tr, chips, credit }, r) => {
    const row = state.rows.find((candidate) => candidate.step === r);
    tr.classList.toggle("sd-now", state.kind === "denoise" && row === state.rows[state.rows.length - 1]);
    tr.classList.toggle("sd-waiting", !row);
    const labels = row ? labelled(row.cells) : [];
    chips.forEach((chip, i) => draw(chip, i, row && row.cells[i], labels[i]));
    const worth = row && row.step && row.credit;
    setText(credit, worth ? fill(words.credit, worth) : "");
    credit.title = worth ? fill(words.creditHelp, worth) : "";
  });
  const done = state.verify;
  block.check.classList.toggle("sd-waiting", !done);
  block.check.classList.toggle("sd-now", state.kind === "verify");
  setText(block.bracket, done ? fill(words.bracket, { n: done.tokens.length, ms: milliseconds(done.ms) }) : state.rows.length ? words.bracketWaiting : "");
  const now = state.kind === "verdict" ? lastVerdict(state) : -1;
  const checked = labelled(state.checks), put = labelled(state.outcome);
  block.checks.forEach((chip, i) => {
    draw(chip, i, state.checks[i], checked[i]);
    chip.classList.toggle("sd-now", i === now);
    chip.classList.toggle("sd-flipped-verdict", Boolean(state.checks[i] && state.checks[i].flipped));
    drawCoin(block.coins[i], state.checks[i] && state.checks[i].verdict);
  });
  block.written.forEach((chip, i) => draw(chip, i, state.outcome[i], put[i]));
}
function drawCoin(bar, verdict) {
  bar.classList.toggle("sd-flipped", Boolean(verdict));
  if (!verdict) return;
  bar.dataset.kept = String(verdict.accepted);
  bar.firstChild.style.width = 100 * verdict.keep + "%";
  bar.lastChild.style.left = 100 * verdict.u + "%";
}

// The text: the prompt, then one span per cycle. `ahead` spans are decoded but not yet played.
function drawText(box, timeline, state) {
  const wanted = timeline.cycles.length + 1;
  while (box.children.length > wanted) box.lastChild.remove();
  while (box.children.length < wanted) box.append(el("span"));
  setText(box.firstChild, timeline.run ? timeline.run.prompt : "");
  box.firstChild.className = "sd-prompt";
  timeline.cycles.forEach((cycle, c) => {
    const span = box.children[c + 1];
    const written = c < state.index || (c === state.index && state.emit);
    const className = (written ? "sd-past" : "sd-ahead") + (c === state.index ? " sd-here" : "");
    setText(span, cycle.emit ? cycle.emit.text : "");
    if (span.className !== className) span.className = className;
    span.dataset.cycle = c;
  });
}
