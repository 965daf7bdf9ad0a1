// The same points as rows of buttons, the answer to the question, and lists of sentences. Text only.
const listed = (node, lines) => node.replaceChildren(...lines.map((text) => el("li", "", text)));

function valued(value, span, wide) {
  const td = el("td", "", value + " ");
  if (span) td.append(el("span", "fr-range", span));
  if (wide) td.dataset.wide = "";
  return td;
}

function takeButton(p, act, words) {
  const button = el("button", "fr-pick", p.name);
  button.type = "button";
  button.title = fill(words.table.pick, { name: p.name });
  button.addEventListener("click", () => act.take(p));
  return button;
}
function pickButton(p, index, act, words) {
  const button = takeButton(p, { take: () => act.pick(index) }, words);
  button.dataset.index = index;
  button.addEventListener("focus", () => act.ring(index));
  button.addEventListener("blur", () => act.ring(null));
  return button;
}

// Points that stand in no shipped layer, with where they come from: this machine's, own runs, and under "all" those of the strip below the chart.
function beside(data, every, words) {
  const { mine, main, own } = data, alone = every ? [main, mine].flatMap((layer) => (layer ? layer.alone : [])) : [];
  return [...(mine ? mine.points : []).map((p) => [p, words.key.mine]), ...own.stars.map((p) => [p, words.key.own]), ...alone.map((p) => [p, words.strip])];
}

function drawTable(table, data, answer, every, current, act, words) {
  const layer = data.main || { points: [], fronts: {} };
  const heads = [["setting"], ["speed"], ["quality"], ["n", 1], ["chance", 1], ["fronts", 1]];
  const row = el("tr");
  for (const [name, wide] of heads) {
    const th = el("th", "", name === "quality" ? act.qualityName[0].toUpperCase() + act.qualityName.slice(1) : words.table[name]);
    th.scope = "col";
    if (wide) th.dataset.wide = "";
    define(th, words.table[name + "Help"]);
    row.append(th);
  }
  const head = el("thead"), body = el("tbody");
  head.append(row);
  const fronts = Object.entries(layer.fronts), on = (i) => fronts.filter(([, line]) => line.includes(i)).map(([name]) => words.fronts[name]);
  const order = layer.points.map((_, i) => i).filter((i) => every || on(i).length).sort((a, b) => layer.points[b].speed - layer.points[a].speed);
  for (const i of order) {
    const p = layer.points[i], tr = el("tr"), th = el("th");
    th.scope = "row";
    th.append(pickButton(p, i, act, words));
    if (answer && answer.best === i) tr.dataset.best = "";
    if (current === i) tr.setAttribute("aria-current", "true");
    const timed = known(p.speed_low) ? range(p.speed_low, p.speed_high, times) : "(" + fill(words.once, p) + ")";
    tr.append(th, valued(times(p.speed), timed), valued(share(p.quality), range(p.quality_low, p.quality_high, share)), valued(String(p.n), "", 1), valued(percent(p.chance), "", 1), valued(on(i).join(" · "), "", 1));
    body.append(tr);
  }
  const others = beside(data, every, words);
  for (const [p, source] of others) {
    const tr = el("tr"), th = el("th");
    th.scope = "row";
    th.append(source === words.key.own ? el("span", "", p.name + " ") : takeButton(p, act, words), el("span", "fr-range", " " + source));
    tr.append(th, valued(times(p.speed), range(p.speed_low, p.speed_high, times)), valued(share(p.quality), range(p.quality_low, p.quality_high, share)), ...["", "", ""].map((text) => valued(text, "", 1)));
    body.append(tr);
  }
  table.replaceChildren(head, body);
  return order.length + others.length;
}

function drawAnswer(box, answer, version, layer, act, words) {
  const w = words.answer, parts = [el("h3", "", w.title)];
  const told = (title, index) => {
    const p = layer.points[index], line = el("p");
    line.append(el("b", "", title + ": "), pickButton(p, index, act, words), el("br"), el("span", "fr-range", times(p.speed) + "× " + range(p.speed_low, p.speed_high, times) + ", " + act.qualityName + " " + qualityOf(p)));
    return line;
  };
  if (!answer || answer.say) parts.push(el("p", "", answer ? answer.say : ""));
  else {
    parts.push(el("p", "fr-small", fill(answer.axis === "quality" ? w.needQuality : w.needSpeed, { bound: answer.axis === "quality" ? share(answer.bound) : times(answer.bound) })));
    if (answer.best === null) parts.push(told(w.nothing, answer.nearest));
    else {
      parts.push(told(w.best, answer.best));
      const { lossless } = layer.points[answer.best];
      if (lossless || !answer.sure) parts.push(el("p", "fr-small", lossless ? w.lossless : w.unsure));
      if (answer.runner_up !== null) parts.push(told(w.runner, answer.runner_up));
      if (answer.rejected.length) {
        const list = el("ul");
        list.tabIndex = 0;
        list.setAttribute("aria-label", w.why);
        listed(list, answer.rejected.map(([i, why]) => layer.points[i].name + ": " + why));
        parts.push(el("h4", "", w.why), list);
      }
    }
  }
  const text = version + JSON.stringify(answer);
  if (box.dataset.drawn === text) return; // a redraw for another reason must not be spoken again, nor take the focus
  box.dataset.drawn = text;
  box.replaceChildren(...parts);
}
