// Runs as files: save, open, and a lesson that plays without a network. Refuses to draw.
// A line never holds a literal "<" (trace.py), so a run can stand inside a script.

function download(name, type, ...parts) {
  const link = el("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function saveRun(text, timeline) {
  const events = text.trim().split("\n").filter((line) => !line.startsWith('{"kind":"source"'));
  const { text: written, tokens, stats } = timeline.end;
  const head = JSON.stringify({ schema: timeline.run.schema, text: written, tokens, stats }).slice(0, -1);
  download("run.json", "application/json", head + ', "events": [\n' + events.join(",\n") + "\n]}\n");
}

// One row per finished cycle; milliseconds are measured, the mean TV is of the examined positions.
function cycleRows(timeline) {
  const head = ["cycle", "drafted", "accepted", "by_leniency", "extra", "tokens", "draft_ms", "verify_ms", "examine_ms", "mean_tv"];
  const rows = timeline.cycles.filter((cycle) => cycle.verify && cycle.emit).map(({ number, verify, verdicts, emit }) => {
    const tv = verdicts.reduce((sum, verdict) => sum + verdict.tv, 0) / verdicts.length;
    return [number, verify.tokens.length, emit.accepted, verdicts.filter((verdict) => verdict.lenient).length, emit.extra, emit.tokens.length,
            verify.draft_ms, verify.ms, emit.ms, verdicts.length ? tv : ""];
  });
  return [head, ...rows].map((row) => row.join(",")).join("\r\n") + "\r\n";
}

// `page`: the whole lesson page of lesson.py with a place for the run.
function saveLesson(page, text, timeline) {
  const lines = text.trim().split("\n").filter((line) => !line.startsWith('{"kind":"source"'));
  const value = JSON.stringify(['{"kind":"source","source":"recorded","run":0,"name":""}', ...lines, ""].join("\n")).replace(/</g, "\\u003c");
  download("lesson.html", "text/html", page.replace("/*the run*/" + "null", () => value));
}

// The player's value for the text of a run file. Throws an Error that says what is wrong; whatever it accepts can be played to the end.
function openedRun(text, words) {
  let data;
  try { data = JSON.parse(text); } catch { throw new Error(words.notJson); }
  if (!data || !Array.isArray(data.events)) throw new Error(words.noEvents);
  if (data.schema !== 1) throw new Error(fill(words.schema, { schema: String(data.schema).slice(0, 20) }));
  const trial = newTimeline();
  try {
    for (const event of data.events) {
      if (trial.end) throw new Error("end");
      checkEvent(event);
      append(trial, event);
    }
    if (!trial.run || data.events[0].kind !== "run") throw new Error("run");
    if (!trial.end) append(trial, stoppedEnd(trial)); // the command line keeps a run that was interrupted
    trial.frames.forEach((_, k) => caption(trial, stateAt(trial, k), props.words.captions));
  } catch { throw new Error(words.broken); }
  const last = data.events[data.events.length - 1], events = last === trial.end ? data.events : [...data.events, trial.end];
  return ['{"kind":"source","source":"opened","run":0,"name":""}', ...events.map(escaped), ""].join("\n");
}
const escaped = (event) => JSON.stringify(event).replace(/</g, "\\u003c");

// The end that a run lacks which was cut short.
function stoppedEnd(timeline) {
  const emits = timeline.cycles.flatMap(({ emit }) => emit || []);
  return { kind: "end", at: timeline.frames[timeline.frames.length - 1].at, reason: "stopped", text: emits.map((emit) => emit.text).join(""),
           tokens: emits.flatMap((emit) => emit.tokens), stats: {}, error: "" };
}

// A live run outlives another on the stage and a reload of the page, a person's or the one that follows a lost connection: it waits in
// this tab's own storage. Returns what is kept, null where there is nothing to keep.
const KEPT = "sd-run";
function keepRun(text, timeline) {
  if (timeline.source !== "live" || !timeline.cycles.some(({ emit }) => emit)) return null;
  const whole = timeline.end ? text : text + escaped(stoppedEnd(timeline)) + "\n";
  try { sessionStorage.setItem(KEPT, whole); } catch { /* no storage, or no room in it */ }
  return whole;
}
function keptRun() {
  try { return sessionStorage.getItem(KEPT); } catch { return null; }
}

const EXPECTED = {
  run: { prompt: "string", prompt_tokens: "array", settings: "object", models: "object", machine: "object" },
  pieces: { pieces: "object" }, prefill: { ms: "number" },
  denoise: { cycle: "number", step: "number", steps: "number", canvas: "array", fixed: "array", ms: "number" },
  verify: { cycle: "number", tokens: "array", fixed_at: "array", draft_ms: "number", ms: "number" },
  verdict: { cycle: "number", position: "number", token: "number", p: "number", q: "number", f: "number", u: "number", keep: "number",
             tv: "number", accepted: "boolean", lenient: "boolean", top_p: "array", top_q: "array" },
  emit: { cycle: "number", tokens: "array", accepted: "number", extra: "string", text: "string", ms: "number", p: "number", residual: "number", top_p: "array" },
  end: { reason: "string", text: "string", tokens: "array", error: "string" },
};
const LARGEST = 256; // columns and steps that can be drawn
const kindOf = (value) => (Array.isArray(value) ? "array" : value === null ? "null" : value === Infinity || value === -Infinity ? "infinite" : typeof value);
function checkEvent(event) {
  const wanted = EXPECTED[event.kind];
  if (!wanted || kindOf(event.at) !== "number") throw new Error(event.kind);
  for (const [key, kind] of Object.entries(wanted)) if (kindOf(event[key]) !== kind) throw new Error(key);
  const { gamma = 8, steps = 1, leniency = 0 } = event.settings || {};
  if ([gamma, steps, event.steps ?? 1, (event.canvas || []).length].some((size) => !(size >= 0 && size <= LARGEST))) throw new Error("size");
  if (kindOf(leniency) !== "number") throw new Error("leniency");
  const bad = (value) => kindOf(value) !== "number";
  for (const list of [event.canvas, event.tokens, event.fixed_at]) if (Array.isArray(list) && list.some(bad)) throw new Error("token");
  if (Object.values(event.pieces || {}).some((piece) => typeof piece !== "string")) throw new Error("piece");
  if (event.kind === "emit" && !(event.extra === "" || (["correction", "bonus"].includes(event.extra) && event.tokens.length))) throw new Error("extra");
  for (const pair of [...(event.top_p || []), ...(event.top_q || [])]) if (!Array.isArray(pair) || pair.length !== 2 || pair.some(bad)) throw new Error("alternative");
}
