// One token's laws: the picture, the facts and a table whose bars of p and q can be dragged. Numbers come from Python.
const EDITED = ["p", "q"], PARTS = ["firm", "lenient", "refused", "correction"];
let data = null, rows = [], dragged = null, base = null, width = 0;
const dirty = new Set();

// ── the picture: per token, what is drafted beside what comes out
function drawPicture() {
  if (!data || !width) return;
  const height = 250, left = 34, bottom = 40, top = 10, n = data.tokens.length;
  const most = Math.max(0.2, ...data.p, ...data.q, ...data.emitted), ceiling = Math.ceil(most * 10 - 1e-9) / 10;
  const y = (value) => top + (1 - value / ceiling) * (height - top - bottom), slot = (width - left - 6) / n, bar = Math.min(56, slot * 0.36);
  const root = svg("svg", { width, height, "aria-hidden": "true", class: "th-svg" });
  const hatch = svg("pattern", { id: "th-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  hatch.append(svg("rect", { width: 6, height: 6, class: "th-refused" }), svg("rect", { width: 2, height: 6, class: "th-hatch-line" }));
  const defs = svg("defs", {});
  defs.append(hatch);
  root.append(defs);
  for (let mark = 0; mark <= ceiling + 1e-9; mark += ceiling > 0.5 ? 0.2 : 0.1) {
    root.append(svg("line", { x1: left, x2: width, y1: y(mark), y2: y(mark), class: "th-grid" }),
      svg("text", { x: left - 5, y: y(mark) + 4, "text-anchor": "end", class: "th-axis" }, mark.toFixed(1)));
  }
  data.tokens.forEach((token, i) => {
    const middle = left + slot * (i + 0.5);
    const stack = (x, parts) => {
      let from = 0;
      for (const part of parts) {
        const value = data[part][i];
        if (value > 0) root.append(svg("rect", { x, width: bar, y: y(from + value), height: y(from) - y(from + value), class: "th-" + part,
          ...(part === "refused" ? { fill: "url(#th-hatch)" } : {}) }));
        from += value;
      }
      root.append(svg("rect", { x, width: bar, y: y(from), height: y(0) - y(from), class: "th-outline" }));
    };
    stack(middle - bar - 2, ["firm", "lenient", "refused"]);
    stack(middle + 2, ["firm", "lenient", "correction"]);
    root.append(svg("line", { x1: middle - bar - 6, x2: middle + bar + 6, y1: y(data.p[i]), y2: y(data.p[i]), class: "th-tick-under" }),
      svg("line", { x1: middle - bar - 6, x2: middle + bar + 6, y1: y(data.p[i]), y2: y(data.p[i]), class: "th-tick" }));
    const room = Math.max(2, Math.floor(slot / 8));
    if (bar > 22) root.append(svg("text", { x: middle - 2 - bar / 2, y: height - bottom + 13, "text-anchor": "middle", class: "th-axis" }, words.drafted),
      svg("text", { x: middle + 2 + bar / 2, y: height - bottom + 13, "text-anchor": "middle", class: "th-axis" }, words.emitted));
    root.append(svg("text", { x: middle, y: height - bottom + 31, "text-anchor": "middle", class: "th-token" },
      token.length > room ? token.slice(0, room - 1) + "…" : token));
  });
  $(".th-picture").replaceChildren(root);
  $(".th-picture").setAttribute("aria-label", fill(words.pictureAlt, { n }));
}

function drawFacts() {
  const list = $(".th-facts");
  list.replaceChildren(...Object.entries(words.facts).map(([key, [name, help]]) => {
    const item = el("div", "th-fact"), value = data.facts[key];
    item.append(el("dt", "", name), el("dd", "th-value", value === null ? words.infinite : number(value)), el("dd", "th-small", help));
    item.dataset.fact = key;
    return item;
  }));
}

// ── the table: one row per token, nodes are kept while the tokens stay, so focus and drags survive every answer
function makeTable() {
  const head = el("tr"), body = el("tbody"), table = $(".th-laws"), columns = Object.entries(words.columns);
  head.append(scoped("col", words.token));
  for (const [, [symbol, help]] of columns) {
    const cell = scoped("col", symbol);
    cell.append(el("span", "th-small", help));
    head.append(cell);
  }
  rows = data.tokens.map((token, i) => {
    const tr = el("tr"), cells = {};
    tr.append(scoped("row", token));
    for (const [key, [symbol, help]] of columns) {
      const td = el("td", "th-cell th-cell-" + key), name = el("span", "th-name", symbol);
      name.title = help;
      td.append(name);
      cells[key] = EDITED.includes(key) ? editor(td, key, i, token) : bar(td);
      tr.append(td);
    }
    body.append(tr);
    return cells;
  });
  const thead = el("thead");
  thead.append(head);
  table.replaceChildren(thead, body);
}
function scoped(scope, text) {
  const th = el("th", "", text);
  th.scope = scope;
  return th;
}
function bar(td) {
  const track = el("span", "th-track"), inner = el("i"), value = el("span", "th-number");
  track.append(inner);
  td.append(track, value);
  return (x, never) => {
    track.hidden = Boolean(never);
    inner.style.width = 100 * Math.min(1, x) + "%";
    setText(value, never ? words.never : number(x));
  };
}
function editor(td, law, index, token) {
  const range = el("input", "th-range"), box = el("input", "th-box"), name = fill(words.edit, { law: words.columns[law][0], token: token });
  Object.assign(range, { type: "range", min: 0, max: 1, step: 0.01 });
  Object.assign(box, { type: "number", min: 0, max: 1, step: "any" });
  range.setAttribute("aria-label", name);
  box.setAttribute("aria-label", name);
  range.oninput = () => {
    if (dragged !== range) [dragged, base] = [range, [...data[law]]];
    paint(range);
    box.value = range.value;
    share({ law, index, value: range.value, from: base }, false);
  };
  range.onchange = () => {
    share({ law, index, value: range.value, from: base }, true);
    [dragged, base] = [null, null];
  };
  box.oninput = () => dirty.add(box);
  box.onchange = () => {
    dirty.delete(box);
    share({ law, index, value: box.value }, true);
  };
  td.append(range, box);
  return (x) => {
    if (dragged !== range) { range.value = x; paint(range); }
    if (!dirty.has(box) && dragged !== range) box.value = String(Number(x.toFixed(4)));
  };
}

// One edit at a time travels to Python; while it does, a newer one of the same bar replaces the one that waits.
const edits = [];
let sending = false;
async function share(edit, last) {
  const waits = edits[edits.length - 1];
  if (waits && waits.edit.law === edit.law && waits.edit.index === edit.index) edits.pop();
  edits.push({ edit, last });
  if (sending) return;
  sending = true;
  try {
    while (edits.length) {
      const { edit, last } = edits.shift(), { tokens, p, q, whole, rule, leniency } = data;
      const answer = await server.share({ laws: { tokens, p, q, whole }, rule, leniency, edit });
      if (!answer) continue;
      props.value = answer;
      draw();
      if (last) trigger("settled", {}); // the chart and the typed numbers follow when a drag ends
    }
  } catch {
    edits.length = 0;
    setText($(".th-sentence"), words.lost);
  } finally {
    sending = false;
  }
}
const paint = (range) => range.style.setProperty("--share", 100 * Number(range.value) + "%");

function draw() {
  const next = props.value ? JSON.parse(props.value) : null;
  $(".th-body").hidden = !next;
  $(".th-opening").hidden = Boolean(next);
  if (!next) return;
  const same = data && JSON.stringify(data.tokens) === JSON.stringify(next.tokens);
  data = next;
  if (!same) { dirty.clear(); [dragged, base] = [null, null]; makeTable(); }
  setText($(".th-setting"), data.setting);
  setText($(".th-sentence"), data.sentence);
  setText($(".th-whole"), data.whole === null ? "" : words.whole);
  drawFacts();
  rows.forEach((cells, i) => {
    for (const [key, put] of Object.entries(cells)) put(data[key][i], key === "keep" && data.q[i] === 0);
  });
  drawPicture();
}

function legend() {
  const items = PARTS.map((part) => [part, words[part]]).concat([["tick", words.tick]]);
  $(".th-legend").replaceChildren(...items.map(([part, word]) => {
    const item = el("li"), swatch = svg("svg", { width: 18, height: 14, "aria-hidden": "true", class: "th-svg" });
    if (part === "tick") swatch.append(svg("line", { x1: 0, x2: 18, y1: 7, y2: 7, class: "th-tick" }));
    else swatch.append(svg("rect", { width: 18, height: 14, class: "th-" + part, ...(part === "refused" ? { fill: "url(#th-hatch)" } : {}) }), svg("rect", { width: 18, height: 14, class: "th-outline" }));
    item.append(swatch, el("span", "", word));
    return item;
  }));
  $(".th-legend").append(el("li", "th-small", words.pictureHelp));
}

for (const [selector, word] of [["#th-laws-title", "picture"], [".th-opening", "opening"], [".th-table-title", "table"]]) setText($(selector), words[word]);
legend();
whenWide((now) => { width = now; drawPicture(); });
watch("value", draw);
draw();
if (!props.value) trigger("opened", {}); // the laws are computed when somebody first looks
