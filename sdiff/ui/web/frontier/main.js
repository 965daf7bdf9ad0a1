// Wires the frontier: reads the payload, draws chart, table and answer, tells which point was picked. In scope: element, props, trigger, watch.
const words = props.words, root = $(".fr"), box = $(".fr-plot");
let data = null, answer = null, value = null, asked = null, ringed = null, current = null, wired = false, due = 0, seen = false, version = 0;
const coarse = matchMedia("(pointer: coarse)").matches;

const act = {
  pick(index) {
    current = index;
    act.take(data.main.points[index]);
    redraw();
  },
  take: (p) => trigger("pick", { key: [data.task, ...Object.values(p.setting)], name: p.name }),
  ring(index) {
    ringed = index === null ? null : data.main.points[index];
    redraw();
  },
  qualityName: "",
};

function read() {
  if (props.value !== value) {
    value = props.value;
    version += 1;
    data = value ? JSON.parse(value) : null;
    answer = data ? data.answer : null;
    asked = props.answer; // an older answer belongs to an older payload
    ringed = null;
    current = null; // an index of the older payload
    if (data && !data.broken) act.qualityName = data.graded ? words.accuracy : words.closeness;
  } else if (props.answer !== asked) {
    asked = props.answer;
    const next = asked ? JSON.parse(asked) : null;
    if (next && (!next.of || (data && next.of.every((part, i) => part === [data.task, data.noise, data.rule, data.place][i])))) answer = next;
  }
}

function colours() {
  const style = getComputedStyle(root), page = getComputedStyle(document.body);
  const own = (name) => style.getPropertyValue("--" + name).trim(), theirs = (name) => page.getPropertyValue("--" + name).trim();
  const named = Object.fromEntries(["strict", "full", "both", "leniency", "steps", "mine", "own", "area"].map((name) => [name, own(name)]));
  return { ...named, edge: own("mark-edge"), text: theirs("body-text-color"), grid: theirs("border-color-primary"), back: theirs("background-fill-primary") };
}

function draw() {
  due = 0;
  read();
  const points = data && data.main ? data.main.points : [];
  const any = points.length || (data && data.mine && data.mine.points.length) || (data && data.own && data.own.stars.length) || (data && [data.main, data.mine].some((l) => l && l.alone.length));
  root.dataset.state = !data ? "reading" : data.broken ? "broken" : any ? "drawn" : "none";
  $(".fr-missing").textContent = !data ? words.reading : data.broken || data.missing;
  if (!data || data.broken) return;
  drawWords(points);
  if (!any) return;
  $(".fr-counted").textContent = fill(words.table.counts, { n: drawRows(), all: points.length + beside(data, true, words).length });
  if (points.length) drawAnswer($(".fr-answer"), answer, version, data.main, act, words);
  else $(".fr-answer").replaceChildren();
  $(".fr-answer").hidden = !points.length;
  drawChart(points);
}

// The table is drawn anew only when its content changes: the focus stays where it is.
function drawRows() {
  const every = $(".fr-all").checked, table = $(".fr-table");
  const text = [version, every, answer && answer.best, current].join();
  if (table.dataset.drawn !== text) {
    const focused = table.contains(document.activeElement) ? document.activeElement.dataset.index : null;
    table.dataset.rows = drawTable(table, data, answer, every, current, act, words);
    table.dataset.drawn = text;
    if (focused !== null) table.querySelector('[data-index="' + focused + '"]')?.focus();
  }
  return table.dataset.rows;
}

function drawWords(points) {
  const gains = data.main ? data.main.gain : {};
  const told = Object.entries(words.gain).filter(([knob]) => gains[knob] && known(gains[knob].ratio)).map(([knob, text]) =>
    fill(text, Object.fromEntries(["ratio", "low", "high"].map((key) => [key, times(gains[knob][key])]))));
  $(".fr-headline").textContent = told.length ? told.join("; ") + "." : points.length ? words.noGain : "";
  define($(".fr-headline"), told.length ? words.gainHelp : "");
  listed($(".fr-notes"), [...data.notes, ...(told.length ? [words.gainHelp] : [])]);
  listed($(".fr-where"), data.where);
  const own = data.own, notes = [];
  if (own.stars.length) notes.push(words.ownNote);
  if (own.unpaired) notes.push(fill(words.unpaired, { n: own.unpaired }));
  if (own.elsewhere) notes.push(fill(words.elsewhere, { n: own.elsewhere }));
  listed($(".fr-own-notes"), notes);
  $('[data-key="mine"]').hidden = !(data.mine || (data.main && data.main.alone.length));
  $('[data-key="own"]').hidden = !own.stars.length;
  $(".fr-where-title").hidden = !data.where.length;
}

function drawChart(points) {
  const missing = !window.Plotly;
  $(".fr-nochart").hidden = !missing;
  box.hidden = missing;
  if (missing || !element.offsetWidth) return; // in a hidden tab: the observer draws later
  const narrow = element.offsetWidth < 560;
  const { data: traces, layout } = figure(data, answer, { words, colours: colours(), narrow, coarse, ringed, any: points.length > 0 });
  const bounds = (key, pick) => times(points.length ? pick(...points.map((p) => p[key])) : NaN);
  box.setAttribute("aria-label", fill(words.picture, { n: points.length, task: data.called, slow: bounds("speed", Math.min), fast: bounds("speed", Math.max), low: bounds("quality", Math.min), high: bounds("quality", Math.max) }));
  window.Plotly.react(box, traces, layout, { responsive: false, displaylogo: false, displayModeBar: false });
  box.dataset.drawn = Number(box.dataset.drawn || 0) + 1;
  if (wired) return;
  wired = true;
  box.on("plotly_click", (event) => {
    const index = event.points[0].customdata;
    if (typeof index === "number") act.pick(index);
    else if (/^mine[0-9]+$/.test(index)) act.take(data.mine.points[Number(index.slice(4))]);
  });
}

function redraw() {
  if (!due) due = setTimeout(draw, 0);
}

function download() {
  const link = el("a");
  link.href = URL.createObjectURL(new Blob([asCsv(data, data.where)], { type: "text/csv" }));
  link.download = "frontier-" + data.task + ".csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

for (const [selector, text] of [["#fr-title", words.title], [".fr-nochart", words.noChart], [".fr-reset", words.reset], [".fr-csv", words.csv], [".fr-table-title", words.table.title],
  [".fr-count label span", words.table.all], [".fr-where-title", words.where], [".fr-definitions", words.definitions]]) $(selector).textContent = text;
for (const part of element.querySelectorAll("[data-key]")) part.append(words.key[part.dataset.key]);
for (const part of element.querySelectorAll("[data-word]")) part.append(words.key[part.dataset.word]);
for (const part of element.querySelectorAll("[data-front]")) part.append(words.fronts[part.dataset.front]);
$(".fr-all").addEventListener("change", redraw);
$(".fr-csv").addEventListener("click", download);
$(".fr-reset").addEventListener("click", () => wired && window.Plotly.relayout(box, { "xaxis.autorange": true, "yaxis.autorange": true }));
watch(["value", "answer"], redraw);
new MutationObserver(redraw).observe(document.body, { attributes: true, attributeFilter: ["class"] });
// Asks for the measurements when the view is first seen, and again whenever it comes back: runs may have ended meanwhile.
new ResizeObserver(() => {
  const now = element.offsetWidth > 0;
  if (now && !seen) trigger("opened");
  seen = now;
  if (now && wired) window.Plotly.Plots.resize(box);
  else if (now) redraw();
}).observe(element);
draw();
