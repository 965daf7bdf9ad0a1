// Wires the race: lanes, one clock, the table. In scope: element, props, watch. All text goes through textContent.

const words = props.words, SPEEDS = [0.1, 0.25, 0.5, 1, 2];
const race = { lanes: [], text: "", now: 0, playing: true, asked: false, speed: 0.5, rows: [], result: null };
// Less motion, by the player's box, which begins as the system says: then a race waits until somebody asks for it.
const still = () => {
  const player = document.querySelector("#player .sd");
  return player ? player.classList.contains("sd-unmoving") : matchMedia("(prefers-reduced-motion: reduce)").matches;
};

const seconds = (ms) => (ms / 1000).toFixed(2) + " s";
const perSecond = (tokens, ms) => (ms > 0 ? ((1000 * tokens) / ms).toFixed(1) : "–");

const complete = () => race.lanes.length > 0 && race.lanes.every((lane) => lane.end);

function read(text) {
  const grew = race.text && text.startsWith(race.text);
  race.text = text;
  race.lanes = lanesOf(text.slice(0, text.lastIndexOf("\n") + 1));
  race.result = complete() ? standings(race.lanes) : null;
  if (!grew) Object.assign(race, { now: 0, playing: !still(), asked: false });
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
  const whole = longest(race.lanes), ended = complete() && race.now >= whole;
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
    write(node.querySelector(".rc-text"), lane.marks.slice(0, at.cycles).map((mark) => mark.text).join(""));
  });
  const scrub = $(".rc-scrub");
  scrub.max = Math.ceil(whole);
  scrub.value = race.now;
  scrub.setAttribute("aria-valuetext", seconds(race.now));
  element.querySelector(".rc").dataset.mode = ended ? "ended" : race.playing ? "playing" : "paused";
  setText($(".rc-play"), ended ? words.replay : race.playing ? words.pause : words.play);
  setText($(".rc-clock"), fill(race.speed < 1 ? words.slow : race.speed > 1 ? words.fast : words.trueTime,
    { at: seconds(race.now), factor: (race.speed < 1 ? 1 / race.speed : race.speed).toFixed(0) }));
  $(".rc-end").disabled = ended || !complete();
  drawStandings(race.result, ended);
  if (ended) document.dispatchEvent(new CustomEvent("sd-race", { detail: { raced: race.lanes.every(({ source }) => source === "live") } }));
}

// The end stays in sight as the text grows, except for a person who scrolled up to read.
function write(box, text) {
  if (box.textContent === text) return;
  const follows = box.scrollTop + box.clientHeight > box.scrollHeight - 20; // within a line of the end
  box.textContent = text;
  if (follows) box.scrollTop = box.scrollHeight;
}

// The settings of a stored race are nobody's choice here.
const laneName = ({ name, source }) => words.lanes[name === "chosen" && source === "recorded" ? "example" : name] || name;

// The result is printed at the end, so that there is something to guess before.
function drawStandings(result, ended) {
  $(".rc-table").hidden = !result || !ended;
  if (!result || !ended) return setText($(".rc-verdict"), result ? words.guess : "");
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
  for (const [selector, word] of [[".rc-title", "title"], [".rc-about", "about"], [".rc-empty", "empty"], [".rc-note", "note"], [".rc-end", "toEnd"]]) setText($(selector), words[word]);
  for (const speed of SPEEDS) $(".rc-speed").append(new Option(speed + "×", String(speed)));
  $(".rc-speed").value = String(race.speed);
  $(".rc-speed").setAttribute("aria-label", words.speed);
  $(".rc-speed").onchange = (event) => { race.speed = Number(event.target.value); show(); };
  $(".rc-scrub").setAttribute("aria-label", words.scrub);
  $(".rc-scrub").oninput = (event) => { Object.assign(race, { now: Number(event.target.value), playing: false }); show(); };
  $(".rc-play").onclick = () => {
    if ($(".rc").dataset.mode === "ended") Object.assign(race, { now: 0, playing: true });
    else race.playing = !race.playing;
    race.asked = true;
    show();
  };
  $(".rc-end").onclick = () => { Object.assign(race, { now: longest(race.lanes), playing: false }); show(); };
}

let before = performance.now();
const timer = setInterval(() => {
  if (!element.isConnected) return clearInterval(timer);
  const now = performance.now(), passed = Math.min(200, now - before);
  before = now;
  // while lanes are still being run the clock waits: a race begins when all are in
  if (!race.playing || !complete() || race.now >= longest(race.lanes)) return;
  if (!race.asked && still()) { race.playing = false; return show(); }
  race.now = Math.min(longest(race.lanes), race.now + passed * race.speed);
  show();
}, 40);

wire();
watch("value", () => read(props.value || ""));
read(props.value || "");
