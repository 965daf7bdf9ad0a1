// Knows how a state is put into words; refuses to know the DOM. `words` are the templates of strings.py.

const label = (timeline, token) => (token in timeline.pieces ? timeline.pieces[token] : "#" + token);
const visible = (text) => text.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/ /g, "␣");
const quoted = (timeline, token) => fill(props.words.quoted, { text: visible(label(timeline, token)) });

// Labels of a row of tokens. Tokens that split one character carry bytes (text.py): the first shows the character, the rest "…".
function rowLabels(timeline, tokens) {
  const labels = tokens.map((token) => (token === null ? "" : label(timeline, token)));
  const shown = labels.map(visible);
  for (let i = 0; i < labels.length; i++) {
    const bytes = [];
    for (let j = i; j < labels.length && bytesOf(labels[j]); j++) {
      bytes.push(...bytesOf(labels[j]));
      const text = decoded(bytes);
      if (text === null) continue;
      shown.fill("…", i, j + 1);
      shown[i] = visible(text);
      i = j;
      break;
    }
  }
  return shown;
}
const bytesOf = (text) => (/^⟨[0-9A-F]{2}( [0-9A-F]{2})*⟩$/.test(text) ? text.slice(1, -1).split(" ").map((byte) => parseInt(byte, 16)) : null);
function decoded(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(bytes));
  } catch {
    return null; // not a whole character yet, or never
  }
}
// What a decoder wrote into a run in English, in the page's words: `pairs` of pattern and replacement (strings.py).
const heard = (text, pairs) => pairs.reduce((told, [pattern, mine]) => told.replace(new RegExp(pattern), mine), text);
const heardAll = (values, pairs) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, typeof value === "string" ? heard(value, pairs) : value]));
const number = (x) => (x === 0 || x === 1 ? String(x) : x > 0 && x < 0.0001 ? "<0.0001" : x < 0.001 || (x > 0.999 && x < 1) ? x.toPrecision(3) : x.toFixed(3));
const milliseconds = (ms) => (ms < 10 ? ms.toFixed(1) : ms.toFixed(0)) + " ms";

function caption(timeline, state, words) {
  const say = { run: sayRun, prefill: sayPrefill, denoise: sayDenoise, verify: sayVerify, verdict: sayVerdict,
                emit: sayCycle, token: sayToken, end: sayEnd }[state.kind];
  return say(timeline, state, words);
}
const sayRun = (timeline, state, words) => fill(words.run, { tokens: timeline.run.prompt_tokens.length });
const sayPrefill = (timeline, state, words) => words.prefill;
const sayToken = (timeline, state, words) => fill(words.token, { token: state.emit.tokens.map((t) => quoted(timeline, t)).join(" ") });

function sayDenoise(timeline, state, words) {
  const row = state.rows[state.rows.length - 1];
  const open = row.cells.filter((cell) => cell.state !== "ready").length;
  const values = { cycle: state.cycle, step: row.step, steps: row.steps, n: row.cells.length, open, ms: milliseconds(row.ms) };
  if (row.step === 0) return fill(row.cells.every((c) => c.state === "masked") ? words.noiseMasked : words.noiseUniform, values);
  return fill(open ? words.denoise : words.denoised, values);
}
function sayVerify(timeline, state, words) {
  return fill(words.verify, { cycle: state.cycle, n: state.checks.length, ms: milliseconds(state.verify.ms) });
}
function sayVerdict(timeline, state, words) {
  const check = state.checks[lastVerdict(state)];
  const { position, token, p, q, u } = check.verdict, keep = check.keep ?? check.verdict.keep, strict = strictKeep(check.verdict);
  if (check.flipped) return sayFlip(timeline, check, words);
  if (check.state === "unexamined") return sayUnreached(timeline, state, check, words);
  const values = { position, token: quoted(timeline, token), p: number(p), q: number(q), u: number(u), keep: number(keep), strict: number(strict) };
  const told = check.at === null ? "" : (check.keep === null ? words.asRecorded : fill(words.at, { at: check.at.toFixed(2) })) + " ";
  const raised = check.state === "rejected" && number(keep) !== number(strict) && keep > strict;
  return told + fill(raised ? words.rejectedThough : words[check.state], values);
}
// The keep probability without leniency, whatever the rule (algorithms: min(1, p ÷ q)).
const strictKeep = ({ p, q }) => (q > 0 ? Math.min(1, p / q) : 1);
// Examined in the recording, but behind a token that another leniency refuses.
function sayUnreached(timeline, state, { verdict, at }, words) {
  const first = state.checks.find((check) => check.state === "rejected").verdict;
  return fill(words.unreached, { at: at.toFixed(2), position: verdict.position, token: quoted(timeline, verdict.token),
                                 first: first.position, refused: quoted(timeline, first.token) });
}
// A recorded coin judged by another leniency: its keep probability there is not in the trace, where it flips is.
const sayFlip = (timeline, { state, verdict, at }, words) =>
  fill(state === "rejected" ? words.wouldRefuse : words.wouldKeep, { position: verdict.position, token: quoted(timeline, verdict.token), u: number(verdict.u), at: at.toFixed(2), flip: number(verdict.flip) });

function sayCycle(timeline, state, words) {
  const flipped = state.checks.find((check) => check.flipped);
  if (flipped) return sayFlip(timeline, flipped, words);
  const count = (name) => state.checks.filter((check) => check.state === name).length;
  const { tokens, extra } = state.emit;
  const lenient = count("lenient");
  const parts = [fill(words.cycle, { cycle: state.cycle, n: state.checks.length, kept: count("accepted") + lenient })];
  if (lenient) parts.push(fill(words.cycleLenient, { lenient }));
  const values = { position: tokens.length, token: quoted(timeline, tokens[tokens.length - 1]), skipped: count("unexamined") };
  if (extra === "correction") parts.push(fill(words.cycleCorrection, values));
  if (extra === "bonus") parts.push(fill(words.cycleBonus, values));
  if (extra === "correction" && values.skipped) parts.push(fill(words.cycleSkipped, values));
  return parts.join("; ") + ".";
}
function sayEnd(timeline, state, words) {
  return fill(words.end[state.end.reason] || state.end.reason, { tokens: state.end.tokens.length, error: state.end.error.replace(/\.$/, "") });
}
function lastVerdict(state) {
  return state.checks.reduce((last, check, i) => (check.verdict ? i : last), -1);
}
