// Draws the numbers of one run beside those of the run before it. Text only; refuses to compute.
const words = props.words, labels = props.labels;
let current = null, before = null;

const shown = (value) => (value === undefined ? "–" : Number.isInteger(value) ? String(value) : value < 10 ? value.toFixed(2) : value.toFixed(1));
const whole = (share) => (100 * share).toFixed(0);
const percent = (share) => whole(share) + " %";
const row = (...cells) => { const tr = el("tr"); tr.append(...cells); return tr; };
function headed(...names) {
  const head = el("thead");
  head.append(row(...names.map((text) => {
    const cell = el(text ? "th" : "td", "", text);
    if (text) cell.scope = "col";
    return text === words.acceptance || text === words.survival ? define(cell, words.definitions) : cell;
  })));
  return head;
}

function drawSummary(table) {
  const body = el("tbody");
  for (const [key, [name, unit, mark, help]] of Object.entries(labels)) {
    if (current.summary[key] === undefined) continue;
    const th = define(el("th", "", name), help + " (" + mark + ")"), value = el("td", "nb-value", shown(current.summary[key]) + " ");
    th.scope = "row";
    value.append(el("span", "nb-unit", unit));
    const tr = row(th, value);
    if (before) tr.append(el("td", "nb-before", shown(before.summary[key])));
    tr.append(el("td", "nb-help", help + " (" + mark + ")"));
    body.append(tr);
  }
  const names = ["", words.now.replace("{name}", current.run), ...(before ? [words.before.replace("{name}", before.run)] : []), ""];
  table.replaceChildren(headed(...names), body);
}

function bar(share, low, high) {
  const td = el("td"), box = el("div", "nb-bar"), inner = el("i");
  box.setAttribute("aria-hidden", "true");
  inner.style.width = 100 * share + "%";
  box.append(inner);
  if (low !== undefined) {
    const whisker = el("b");
    whisker.style.left = 100 * low + "%";
    whisker.style.width = 100 * (high - low) + "%";
    box.append(whisker);
  }
  td.append(box);
  return td;
}

function drawPositions(table) {
  const body = el("tbody");
  for (const p of current.positions) {
    const th = el("th", "", String(p.position));
    th.scope = "row";
    const values = { rate: percent(p.rate), low: whole(p.low), high: whole(p.high), accepted: p.accepted, examined: p.examined };
    const counts = p.examined ? fill(words.counts, values) : words.unexamined;
    const rate = p.examined ? bar(p.rate, p.low, p.high) : bar(0), drafted = { survival: percent(p.survival), low: whole(p.survival_low), high: whole(p.survival_high) };
    body.append(row(th, rate, el("td", "", counts), bar(p.survival, p.survival_low, p.survival_high), el("td", "", fill(words.survived, drafted))));
  }
  table.replaceChildren(headed(words.position, words.acceptance, "", words.survival, ""), body);
}

function drawBreakEven(even) {
  $(".nb-even").hidden = !even;
  if (!even) return;
  $(".nb-meter i").style.width = (100 * even.tau) / even.most + "%";
  $(".nb-meter b").style.left = (100 * even.cost) / even.most + "%";
  $(".nb-even-says").textContent = even.says;
}

function draw() {
  const next = props.value ? JSON.parse(props.value) : null;
  if (!next) return;
  if (current && current.source !== next.source && current.source !== "recorded" && current.run) before = current;
  current = next;
  const any = Boolean(current.run);
  $(".nb-empty").hidden = any;
  $(".nb-summary").hidden = !any;
  for (const part of [".nb-sub", ".nb-positions", ".nb-definitions"]) $(part).hidden = !current.positions.length;
  drawBreakEven(current.break_even);
  drawSummary($(".nb-summary"));
  drawPositions($(".nb-positions"));
}

for (const [selector, word] of [["#nb-title", "title"], [".nb-empty", "empty"], [".nb-sub", "positions"], [".nb-even-title", "breakEven"], [".nb-even-note", "breakEvenNote"], [".nb-definitions", "definitions"]]) $(selector).textContent = words[word];
// Another run is on the stage, whose numbers nobody has worked out.
document.addEventListener("sd-opened", () => {
  current = null;
  for (const part of [".nb-summary", ".nb-even", ".nb-sub", ".nb-positions", ".nb-definitions"]) $(part).hidden = true;
  $(".nb-empty").hidden = false;
});
watch("value", draw);
draw();
