// Acceptance against bias for every rule, with the Theorem 1 line. Knows marks and axes; every point comes from Python.
const MARKS = { // rule -> path of its mark around (0, 0), six units wide each way
  lossless: "M0-6 6 0 0 6-6 0Z", tv: "M-5-5H5V5H-5Z", tv_budget: "M0-6 6 5H-6Z", lenience: "M-6 0A6 6 0 1 0 6 0A6 6 0 1 0-6 0Z",
  cactus: "M-2-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z", cactus_exact: "M0 6 6-5H-6Z", typical: "M-6-4-4-6 0-2 4-6 6-4 2 0 6 4 4 6 0 2-4 6-6 4-2 0Z",
  top_k: "M0-7 2-2 7-2 3 1 5 6 0 3-5 6-3 1-7-2-2-2Z",
};
let data = null, width = 0;
const ceiling = (x, step) => Math.ceil(x / step - 1e-9) * step, floor = (x, step) => Math.floor(x / step + 1e-9) * step;

function drawChart() {
  if (!data || !width) return;
  const wide = Math.min(width, width > 900 ? 0.55 * width : width), high = Math.max(260, Math.min(400, 0.62 * wide));
  const [left, right, top, bottom] = [46, 14, 12, 44], all = Object.values(data.curves).flat();
  const most = Math.max(...all.map((p) => p[0])), least = Math.min(...all.map((p) => p[1]));
  const step = most > 0.5 || least < 0.5 ? 0.2 : 0.1, far = Math.max(step, ceiling(most, step)), low = Math.min(1 - step, floor(least, step));
  const x = (v) => left + (v / far) * (wide - left - right), y = (v) => top + ((1 - v) / (1 - low)) * (high - top - bottom);
  const root = svg("svg", { width: wide, height: high, "aria-hidden": "true", class: "th-svg" });
  const strict = 1 - data.tv, meets = Math.min(far, data.tv);
  // nothing can be above the line: shaded, so that it reads as a ceiling
  root.append(svg("polygon", { points: [[0, 1], [0, strict], [meets, strict + meets]].map(([a, b]) => x(a) + "," + y(b)).join(" "), class: "th-forbidden" }));
  const roof = svg("text", { x: left + 8, y: top + 18, class: "th-axis" }, words.line);
  for (const [from, to, at, name] of [[0, far, x, "x"], [low, 1, y, "y"]]) {
    for (let mark = from; mark <= to + 1e-9; mark += step) {
      const place = name === "x" ? { x1: at(mark), x2: at(mark), y1: top, y2: high - bottom } : { x1: left, x2: wide - right, y1: at(mark), y2: at(mark) };
      const text = name === "x" ? { x: at(mark), y: high - bottom + 16, "text-anchor": "middle" } : { x: left - 6, y: at(mark) + 4, "text-anchor": "end" };
      root.append(svg("line", { ...place, class: "th-grid" }), svg("text", { ...text, class: "th-axis" }, mark.toFixed(1)));
    }
  }
  root.append(svg("text", { x: (left + wide - right) / 2, y: high - 8, "text-anchor": "middle", class: "th-label" }, words.x),
    svg("text", { transform: "translate(12 " + (top + high - bottom) / 2 + ") rotate(-90)", "text-anchor": "middle", class: "th-label" }, words.y));
  root.append(svg("polyline", { points: [[0, strict], [meets, strict + meets], [far, 1]].map(([a, b]) => x(a) + "," + y(Math.min(1, b))).join(" "), class: "th-line" }));
  if (y(strict) - top > 60 && x(meets) - left > 300) root.append(roof); // only where it fits into the shade
  for (const row of data.rows) for (const [bias, accept] of data.curves[row.rule]) root.append(mark(row.rule, x(bias), y(accept), 0.7, "th-point"));
  for (const row of [...data.rows].sort((a, b) => (a.rule === data.chosen) - (b.rule === data.chosen)))
    root.append(mark(row.rule, x(row.bias), y(row.accept), row.rule === data.chosen ? 1.5 : 1.05, row.rule === data.chosen ? "th-now th-chosen" : "th-now"));
  $(".th-chart").replaceChildren(root);
}
function mark(rule, x, y, size, className) {
  return svg("path", { d: MARKS[rule] || MARKS.tv, transform: "translate(" + x + " " + y + ") scale(" + size + ")", class: className + " th-rule-" + rule });
}

// The legend is the table: mark, rule, where it stands now. Buttons are kept, so focus survives every answer.
let buttons = {};
function makeTable() {
  const head = el("tr"), body = el("tbody"), thead = el("thead");
  for (const name of words.columns) head.append(Object.assign(el("th", "", name), { scope: "col" }));
  buttons = {};
  for (const { rule, label, help } of data.rows) {
    const tr = el("tr"), th = Object.assign(el("th"), { scope: "row" }), button = el("button", "th-choose"), icon = svg("svg", { width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true", class: "th-svg" });
    icon.append(mark(rule, 0, 0, 1, "th-now"));
    button.append(icon, el("span", "", label));
    button.type = "button";
    button.title = fill(words.choose, { rule: label });
    button.onclick = () => trigger("chosen", { rule });
    th.append(button, el("small", "th-about", help));
    const cells = ["native", "accept", "bias", "below"].map(() => el("td"));
    tr.append(th, ...cells);
    body.append(tr);
    buttons[rule] = { button, cells };
  }
  thead.append(head);
  $(".th-rules").replaceChildren(thead, body);
}
function draw() {
  const next = props.value ? JSON.parse(props.value) : null;
  element.querySelector(".th").hidden = !next;
  if (!next) return;
  const first = !data;
  data = next;
  if (first) makeTable();
  for (const row of data.rows) {
    const { button, cells } = buttons[row.rule];
    button.setAttribute("aria-pressed", String(row.rule === data.chosen));
    [row.native, number(row.accept), number(row.bias), row.below ? number(row.below) : words.zero].forEach((text, i) => setText(cells[i], text));
    cells[3].classList.toggle("th-off", row.below > 0);
  }
  setText($(".th-sentence"), data.sentence);
  drawChart();
}

for (const [selector, word] of [["#th-chart-title", "title"], [".th-help", "help"]]) setText($(selector), words[word]);
$(".th-chart").setAttribute("aria-label", words.alt);
$(".th-scroll").setAttribute("aria-label", words.table);
whenWide((now) => { width = now; drawChart(); });
watch("value", draw);
draw();
