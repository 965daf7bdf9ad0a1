// From the payload to Plotly's traces and layout. Refuses to know the page; colours come in by name, all text is escaped.
const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
function mixed(from, to, part) {
  const a = channels(from), b = channels(to);
  return "rgb(" + a.map((x, i) => Math.round(x + (b[i] - x) * part)).join(",") + ")";
}
const symbol = (p) => (p.setting.steps === 0 ? "cross" : p.setting.noise === "uniform" ? "square" : "circle");

function bars(points, axis, colour) {
  const reach = (p, end, sign) => (known(p[axis + end]) ? Math.max(0, sign * (p[axis + end] - p[axis])) : 0);
  return { type: "data", symmetric: false, array: points.map((p) => reach(p, "_high", 1)), arrayminus: points.map((p) => reach(p, "_low", -1)), color: colour, thickness: 1.2, width: 0 };
}

function hover(p, data, words) {
  const chance = known(p.chance) ? fill(words.chance, { share: percent(p.chance) }) : "";
  return label(fill(words.hover, { name: p.name, speed: speedOf(p), quality: qualityOf(p), n: p.n, chance: chance }));
}

function markers(points, indices, data, view, front) {
  const { colours, words, narrow } = view, size = front ? (narrow ? 16 : 19) : narrow ? 8 : 10;
  const dark = channels(colours.strict)[0] < 128, turn = dark ? 0.5 : 0.72;
  return {
    type: "scatter", mode: front ? "markers+text" : "markers", x: points.map((p) => p.speed), y: points.map((p) => p.quality), customdata: indices,
    hovertext: points.map((p) => hover(p, data, words)), hovertemplate: "%{hovertext}<extra></extra>",
    text: points.map((p) => (p.setting.steps ? String(p.setting.steps) : "")),
    textfont: { size: narrow ? 10 : 12, color: points.map((p) => (p.setting.leniency > turn) === dark ? "#101418" : dark ? "#FFFFFF" : p.setting.leniency > turn ? "#FFFFFF" : "#101418") },
    marker: { size: size, symbol: points.map(symbol), opacity: front ? 1 : 0.8, color: points.map((p) => mixed(colours.strict, colours.full, Math.min(1, Math.max(0, p.setting.leniency)))), line: { color: colours.edge, width: 1.2 } },
    error_x: bars(points, "speed", front ? colours.edge : colours.grid), error_y: bars(points, "quality", front ? colours.edge : colours.grid),
  };
}

// What lies below and left of a front is dominated: level from plain speed to its first point, then down and on to the next.
function line(points, name, view) {
  const start = points.length ? [{ speed: Math.min(1, points[0].speed), quality: points[0].quality }] : [];
  const path = [...start, ...points], style = { both: [3, "solid"], leniency: [2.5, "8px,4px"], steps: [2.5, "2px,3px"], mine: [1.5, "12px,3px,2px,3px"] }[name];
  return { type: "scatter", mode: "lines", x: path.map((p) => p.speed), y: path.map((p) => p.quality), hoverinfo: "skip", line: { shape: "vh", color: view.colours[name], width: style[0], dash: style[1] } };
}

// The gained area: between the joint front and that of leniency alone, right of plain speed and above the worst quality.
function gained(layer, view) {
  const low = Math.min(...layer.points.map((p) => p.quality));
  const corners = (name) => {
    const front = layer.fronts[name].map((i) => layer.points[i]).filter((p) => p.speed > 1);
    const steps = front.flatMap((p, i) => [[i ? front[i - 1].speed : 1, p.quality], [p.speed, p.quality]]);
    return front.length ? [...steps, [front[front.length - 1].speed, low]] : [];
  };
  const outer = corners("both"), inner = corners("leniency");
  if (outer.length < 2) return [];
  const path = [...outer, ...(inner.length ? inner.reverse() : [[1, low]])];
  return [{ type: "scatter", mode: "lines", x: path.map((c) => c[0]), y: path.map((c) => c[1]), fill: "toself", fillcolor: view.colours.area, line: { width: 0 }, hoverinfo: "skip" }];
}

function layerTraces(layer, data, view) {
  if (!layer.points.length) return [];
  const at = (name) => layer.fronts[name].map((i) => layer.points[i]);
  const shown = new Set([...layer.fronts.both, ...layer.fronts.leniency, ...layer.fronts.steps]);
  const indices = layer.points.map((_, i) => i), rest = indices.filter((i) => !shown.has(i)), top = indices.filter((i) => shown.has(i));
  return [...gained(layer, view), ...["steps", "leniency", "both"].map((name) => line(at(name), name, view)),
    markers(rest.map((i) => layer.points[i]), rest, data, view, false), markers(top.map((i) => layer.points[i]), top, data, view, true)];
}

function mineTraces(layer, data, view) {
  const points = layer.points;
  if (!points.length) return [];
  return [line(layer.fronts.both.map((i) => points[i]), "mine", view), { type: "scatter", mode: "markers", x: points.map((p) => p.speed), y: points.map((p) => p.quality), customdata: points.map((_, i) => "mine" + i),
    hovertext: points.map((p) => label(view.words.key.mine) + "<br>" + hover(p, data, view.words)), hovertemplate: "%{hovertext}<extra></extra>",
    marker: { size: 11, symbol: "diamond-open", color: view.colours.mine, line: { width: 2 } }, error_x: bars(points, "speed", view.colours.mine) }];
}

// Speeds without a quality: own runs and settings that were only timed, on an axis that says nothing about height.
function stripTraces(rows, view) {
  if (!rows.length) return [];
  return [{ type: "scatter", mode: "markers", x: rows.map((r) => r.p.speed), y: rows.map(() => 0), yaxis: "y2", hovertext: rows.map((r) => r.text), hovertemplate: "%{hovertext}<extra></extra>",
    marker: { size: rows.map((r) => (r.star ? 14 : 9)), symbol: rows.map((r) => (r.star ? "star-open" : "diamond-open")), color: rows.map((r) => view.colours[r.star ? "own" : "mine"]), line: { width: 1.6 } },
    error_x: bars(rows.map((r) => r.p), "speed", view.colours.edge) }];
}

function starText(p, words) {
  const quality = known(p.quality) ? fill(words.storedQuality, { quality: qualityOf(p) }) : words.noQuality;
  return label(fill(words.starHover, { name: p.name, speed: speedOf(p), rate: p.tokens_per_second, tokens: p.tokens, quality: quality }));
}

function figure(data, answer, view) {
  const { words, colours, narrow } = view;
  const strip = [data.main, data.mine].flatMap((layer) => (layer ? layer.alone : [])).map((p) => ({ p: p, text: label(fill(words.aloneHover, { name: p.name, speed: speedOf(p) })) }));
  const placed = data.own.stars.filter((p) => known(p.quality));
  strip.push(...data.own.stars.filter((p) => !known(p.quality)).map((p) => ({ p: p, star: true, text: starText(p, words) })));
  const stars = { type: "scatter", mode: "markers", x: placed.map((p) => p.speed), y: placed.map((p) => p.quality), hovertext: placed.map((p) => starText(p, words)), hovertemplate: "%{hovertext}<extra></extra>",
    marker: { size: 16, symbol: "star-open", color: colours.own, line: { width: 2 } }, error_x: bars(placed, "speed", colours.own), error_y: bars(placed, "quality", colours.own) };
  const best = answer && known(answer.bound) && answer.best !== null && data.main ? data.main.points[answer.best] : null;
  const take = best ? [{ type: "scatter", mode: "markers+text", x: [best.speed], y: [best.quality], text: ["<b>" + escaped(words.take) + "</b>"], textposition: "top right", hoverinfo: "skip",
    marker: { size: narrow ? 22 : 26, symbol: "circle-open", color: colours.text, line: { width: 2 } } }] : [];
  const ring = view.ringed ? [{ type: "scatter", mode: "markers", x: [view.ringed.speed], y: [view.ringed.quality], hoverinfo: "skip", marker: { size: 30, symbol: "circle-open", color: colours.both, line: { width: 3 } } }] : [];
  const traces = [...(data.main ? layerTraces(data.main, data, view) : []), ...(data.mine ? mineTraces(data.mine, data, view) : []), ...(placed.length ? [stars] : []), ...stripTraces(strip, view), ...take, ...ring];
  return { data: traces.map((t) => ({ ...t, showlegend: false })), layout: layoutOf(data, answer, view, strip.length > 0) };
}

function layoutOf(data, answer, view, strip) {
  const { words, colours, narrow } = view;
  const axis = { gridcolor: colours.grid, zeroline: false, linecolor: colours.edge, showline: true, ticks: "outside", tickcolor: colours.edge, automargin: true };
  const rule = { type: "line", line: { color: colours.edge, width: 1, dash: "dot" } };
  const needed = answer && known(answer.bound) ? answer : null, across = needed && needed.axis === "quality";
  const spans = (vertical, at) => (vertical ? { x0: at, x1: at, xref: "x", y0: 0, y1: 1, yref: "paper" } : { x0: 0, x1: 1, xref: "paper", y0: at, y1: at, yref: "y" });
  const text = (words_, at) => ({ text: escaped(words_), showarrow: false, font: { size: 12, color: colours.text }, bgcolor: colours.back, ...at });
  return {
    autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: colours.text, family: "system-ui, sans-serif", size: narrow ? 11 : 13 },
    margin: { l: narrow ? 40 : 56, r: 10, t: 14, b: 44 }, hovermode: "closest", hoverlabel: { bgcolor: colours.back, bordercolor: colours.edge, font: { color: colours.text }, align: "left" },
    dragmode: view.coarse ? false : "zoom", uirevision: data.task + data.place, showlegend: false,
    xaxis: { ...axis, title: { text: escaped(known(data.modelled) ? words.modelledAxis : words.speedAxis) }, anchor: strip ? "y2" : "y" },
    yaxis: { ...axis, title: { text: escaped(data.graded ? words.accuracy : words.closeness) }, domain: [strip ? 0.16 : 0, 1], ...(view.any ? {} : { range: [0, 1] }) },
    ...(strip ? { yaxis2: { ...axis, domain: [0, 0.09], range: [-1, 1], fixedrange: true, showgrid: false, tickvals: [0], ticktext: [escaped(words.strip)], ticks: "" } } : {}),
    shapes: [{ ...rule, ...spans(true, 1) }, ...(needed ? [{ ...rule, ...spans(!across, needed.bound), line: { color: colours.both, width: 2, dash: "dashdot" } }] : [])],
    annotations: [text(words.plain, { x: 1, xref: "x", y: 1, yref: "paper", yanchor: "bottom", font: { size: 11, color: colours.text } }),
      ...(needed ? [text(words.bound, across ? { x: 1, xref: "paper", xanchor: "right", y: needed.bound, yref: "y", yanchor: "top" } : { x: needed.bound, xref: "x", xanchor: "left", y: 0.98, yref: "paper" })] : [])],
  };
}
