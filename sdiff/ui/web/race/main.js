// Wires the race: lanes, one clock, the table. In scope: element, props, watch. All text goes through textContent.

const words = props.words, SPEEDS = [0.1, 0.25, 0.5, 1, 2];
const still = matchMedia("(prefers-reduced-motion: reduce)").matches; // then the end is shown, and Start is the person's to press
const race = { lanes: [], text: "", now: 0, playing: !still, speed: 0.5, rows: [] };

const seconds = (ms) => (ms / 1000).toFixed(2) + " s";
const perSecond = (tokens, ms) => (ms > 0 ? ((1000 * tokens) / ms).toFixed(1) : "–");

function read(text) {
  const grew = race.text && text.startsWith(race.text);
  race.text = text;
  race.lanes = lanesOf(text.slice(0, text.lastIndexOf("\n") + 1));
  if (!grew) Object.assign(race, { now: 0, playing: !still });
  if (still) race.now = longest(race.lanes);
  makeLanes();
  show();
}

function makeLanes() {
  const box = $(".rc-lanes");
  while (box.children.length > race.lanes.length) box.lastChild.remove();
  while (box.children.length < race.lanes.length) {
    const lane = el("article", "rc-lane"), track = el("div", "rc-track");
    track.setAttribute("aria-hidden", "true");
    track.append(el("i"));
    lane.append(el("h3"), el("p", "rc-small rc-setting"), track, el("p", "rc-count"), el("div", "rc-text"));
    lane.lastChild.tabIndex = 0;
    lane.lastChild.setAttribute("role", "group");
    box.append(lane);
  }
  race.rows = [...box.children];
  race.rows.forEach((node, i) => {
    setText(node.querySelector("h3"), laneName(race.lanes[i]));
    setText(node.querySelector(".rc-setting"), race.lanes[i].setting);
    node.lastChild.setAttribute("aria-label", laneName(race.lanes[i]));
  });
}

function show() {
  const whole = longest(race.lanes), complete = race.lanes.length > 0 && race.lanes.every((lane) => lane.end);
  $(".rc-empty").hidden = race.lanes.length > 0;
  $(".rc-transport").hidden = !race.lanes.length;
  const told = race.lanes.find((lane) => lane.run);
  setText($(".rc-prompt"), told ? fill(words[told.source === "recorded" ? "recorded" : "prompt"], { prompt: told.run.prompt }) : "");
  const most = Math.max(1, ...race.lanes.map(written));
  race.rows.forEach((node, i) => {
    const lane = race.lanes[i], at = laneAt(lane, race.now);
    node.dataset.through = String(at.through);
    node.querySelector(".rc-track i").style.width = (100 * at.tokens) / most + "%";
    const values = { tokens: at.tokens, seconds: seconds(Math.min(race.now, duration(lane))), speed: perSecond(at.tokens, Math.min(race.now, duration(lane))) };
    setText(node.querySelector(".rc-count"), fill(at.through ? words.through : words.count, values));
    const text = node.querySelector(".rc-text"), shown = lane.marks.slice(0, at.cycles).map((mark) => mark.text).join("");
    setText(text, shown);
    text.scrollTop = text.scrollHeight;
  });
  const scrub = $(".rc-scrub");
  scrub.max = Math.ceil(whole);
  scrub.value = race.now;
  scrub.setAttribute("aria-valuetext", seconds(race.now));
  const ended = complete && race.now >= whole;
  element.querySelector(".rc").dataset.mode = ended ? "ended" : race.playing ? "playing" : "paused";
  setText($(".rc-play"), ended ? words.replay : race.playing ? words.pause : words.play);
  setText($(".rc-clock"), fill(race.speed < 1 ? words.slow : race.speed > 1 ? words.fast : words.trueTime,
    { at: seconds(race.now), factor: (race.speed < 1 ? 1 / race.speed : race.speed).toFixed(0) }));
  drawStandings(complete ? standings(race.lanes) : null);
  if (ended) document.dispatchEvent(new CustomEvent("sd-race", { detail: { raced: race.lanes.every(({ source }) => source === "live") } }));
}

// The settings of a stored race are nobody's choice here.
const laneName = ({ name, source }) => words.lanes[name === "chosen" && source === "recorded" ? "example" : name] || name;

function drawStandings(result) {
  $(".rc-table").hidden = !result;
  if (!result) return setText($(".rc-verdict"), "");
  const last = result.rows.find((row) => row.lane.name === "chosen"), ratio = (x) => x.toFixed(2);
  const says = fill(last.ratio >= 1.05 ? words.helps : last.ratio > 0.95 ? words.even : words.hurts,
    { n: result.n, lane: laneName(last.lane), ratio: ratio(last.ratio), inverse: ratio(1 / last.ratio) });
  const first = result.rows.reduce((best, row) => (row.ratio > best.ratio ? row : best));
  const beaten = first.ratio > 1.05 * Math.max(1, last.ratio) ? " " + fill(words.fastest, { lane: laneName(first.lane), ratio: ratio(first.ratio) }) : "";
  setText($(".rc-verdict"), says + beaten);
  const head = el("thead"), body = el("tbody"), names = el("tr"), line = (name, cells) => {
    const tr = el("tr");
    tr.append(Object.assign(el("th", "", name), { scope: "row" }), ...cells.map((text) => el("td", "", text)));
    return tr;
  };
  names.append(...words.columns.map(([name, help]) => Object.assign(define(el("th", "", fill(name, { n: result.n })), fill(help, { n: result.n })), { scope: "col" })));
  head.append(names);
  for (const row of result.rows) body.append(line(laneName(row.lane), [seconds(row.ms), ratio(row.ratio) + "×", row.tau.toFixed(2), String(row.tokens), seconds(row.whole)]));
  $(".rc-table").replaceChildren(head, body);
}

function wire() {
  for (const [selector, word] of [[".rc-title", "title"], [".rc-about", "about"], [".rc-empty", "empty"], [".rc-note", "note"]]) setText($(selector), words[word]);
  for (const speed of SPEEDS) $(".rc-speed").append(new Option(speed + "×", String(speed)));
  $(".rc-speed").value = String(race.speed);
  $(".rc-speed").setAttribute("aria-label", words.speed);
  $(".rc-speed").onchange = (event) => { race.speed = Number(event.target.value); show(); };
  $(".rc-scrub").setAttribute("aria-label", words.scrub);
  $(".rc-scrub").oninput = (event) => { Object.assign(race, { now: Number(event.target.value), playing: false }); show(); };
  $(".rc-play").onclick = () => {
    if ($(".rc").dataset.mode === "ended") Object.assign(race, { now: 0, playing: true });
    else race.playing = !race.playing;
    show();
  };
}

let before = performance.now();
const timer = setInterval(() => {
  if (!element.isConnected) return clearInterval(timer);
  const now = performance.now(), passed = Math.min(200, now - before);
  before = now;
  // while lanes are still being run the clock waits: a race begins when all are in
  if (!race.playing || !race.lanes.length || !race.lanes.every((lane) => lane.end) || race.now >= longest(race.lanes)) return;
  race.now = Math.min(longest(race.lanes), race.now + passed * race.speed);
  show();
}, 40);

wire();
watch("value", () => read(props.value || ""));
read(props.value || "");
