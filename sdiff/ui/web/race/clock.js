// Knows lanes and time; refuses to know the DOM. A lane is one run: when which tokens were there, on the decoder's own clock.
// Lines: {"kind":"lane", name, setting}, then that run's events. Reading the prompt is the same work in every lane and is left out.

function lanesOf(text) {
  const lanes = [];
  for (const line of text.split("\n")) {
    if (!line) continue;
    const event = JSON.parse(line), lane = lanes[lanes.length - 1];
    if (event.kind === "lane") lanes.push({ name: event.name, setting: event.setting, source: "", start: 0, marks: [], end: null, run: null });
    else if (!lane) continue;
    else if (event.kind === "source") lane.source = event.source;
    else if (event.kind === "run") lane.run = event;
    else if (event.kind === "prefill") lane.start = event.at;
    else if (event.kind === "emit") lane.marks.push({ at: event.at - lane.start, tokens: event.tokens.length, text: event.text });
    else if (event.kind === "end") lane.end = event;
  }
  return lanes;
}

// What a lane shows `ms` after its start: cycles done, tokens written, whether it is through.
function laneAt(lane, ms) {
  let cycles = 0, tokens = 0;
  while (cycles < lane.marks.length && lane.marks[cycles].at <= ms) tokens += lane.marks[cycles++].tokens;
  return { cycles, tokens, through: Boolean(lane.end) && cycles === lane.marks.length };
}
const duration = (lane) => (lane.marks.length ? lane.marks[lane.marks.length - 1].at : 0);
const written = (lane) => lane.marks.reduce((sum, mark) => sum + mark.tokens, 0);
const longest = (lanes) => Math.max(0, ...lanes.map(duration));

// Milliseconds until a lane had n tokens, within a cycle in proportion; null if it never had.
function timeTo(lane, n) {
  let tokens = 0, before = 0;
  for (const { at, tokens: more } of lane.marks) {
    if (tokens + more >= n) return before + ((at - before) * (n - tokens)) / more;
    tokens += more;
    before = at;
  }
  return null;
}

// The lanes that came to their own end, over the same distance: as many tokens as the shortest answer has. Ratios are to plain decoding.
// Null unless plain decoding and the chosen setting are among them.
function standings(lanes) {
  const done = lanes.filter((lane) => lane.end && ["eos", "limit", "context"].includes(lane.end.reason) && lane.marks.length);
  const n = Math.min(...done.map(written));
  if (!["plain", "chosen"].every((name) => done.some((lane) => lane.name === name)) || !(n > 0)) return null;
  const rows = done.map((lane) => ({ lane, ms: timeTo(lane, n), tokens: written(lane), whole: duration(lane), tau: written(lane) / lane.marks.length }));
  const plain = rows.find((row) => row.lane.name === "plain");
  for (const row of rows) row.ratio = plain.ms / row.ms;
  return { n, rows };
}
