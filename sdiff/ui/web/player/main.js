// Wires the page: reads the growing run, keeps the timeline, draws on demand. In scope: element, props, watch.
// `showRun` draws what belongs to the run, `show` what belongs to the frame; layout is read once, after everything is written.

const root = $(".sd"), words = props.words, states = props.states;
let timeline = newTimeline(), consumed = "", block = null, shape = "", pointed = null, pinned = false, spoken = "", whatIf = null;
let kept = server && keptRun(); // the newest live run that gave way to another, or to a reload of this page
const predictor = makePredictor(), pin = makePin($(".sd-pinned"), words, states), presenter = makePresenter(words);
const transport = makeTransport(() => timeline, show, (k) => predictor.waits(timeline, k), () => { [pointed, pinned] = [null, false]; });

// The value only grows during a run; anything else is a new run. A half line waits for its rest.
function read(text, another = false) {
  const cut = text.lastIndexOf("\n") + 1;
  const other = another || consumed === "" || !text.startsWith(consumed);
  if (other) {
    kept = server && (keepRun(consumed, timeline) || kept);
    [timeline, consumed, pointed, pinned, spoken, whatIf, $(".sd-text").leftAt] = [newTimeline(), "", null, false, "", null];
    predictor.reset();
    transport.restart();
  }
  for (const line of text.slice(consumed.length, cut).split("\n")) if (line) append(timeline, JSON.parse(line));
  consumed = text.slice(0, cut);
  if (other && $(".sd-still").checked && timeline.source !== "live") transport.playing = false; // what nobody asked to move waits for Play
  showRun();
  show(false);
}

const stateNow = () => stateAt(timeline, transport.head, whatIf);

function stamp(values) {
  for (const [name, value] of Object.entries(values)) if (root.dataset[name] !== String(value)) root.dataset[name] = value;
}

function showRun() {
  stamp({ source: timeline.source, name: timeline.name, frames: timeline.frames.length, run: timeline.end ? timeline.end.reason : timeline.run ? "running" : "none" });
  setHidden($(".sd-empty"), timeline.frames.length > 0);
  setHidden($(".sd-kept"), !kept || timeline.source === "live");
  drawHeader();
  drawWhatIf(timeline, whatIf, words.whatIf);
  setAttribute($(".sd-scrub"), "max", Math.max(0, timeline.frames.length - 1));
  $(".sd-save").disabled = $(".sd-rounds").disabled = $(".sd-lesson").disabled = !timeline.end;
  $(".sd-pin").disabled = !timeline.end && !pin.timeline;
}

function show(byHand) {
  const state = stateNow();
  stamp({ frame: transport.head, mode: transport.atEnd() ? "ended" : transport.playing ? "playing" : "paused" });
  drawPredict(predictor, timeline, state, words.predict, answer);
  drawCycleTable(timeline, state, states, words.table);
  drawFlip(state, words.whatIf);
  if (!state) return drawTransport(state);
  stamp({ kind: state.kind, cycle: state.cycle });
  const grown = drawText($(".sd-text"), timeline, state);
  drawTable(state);
  const sentence = caption(timeline, state, words.captions);
  setText($(".sd-caption"), sentence);
  drawTransport(state);
  announce(state, sentence, byHand);
  showCard(state);
  pin.show(timeline, transport.head);
  tell(state, byHand);
  if (grown) keepInView($(".sd-text"), $(".sd-here"), byHand);
  if (byHand || transport.playing) keepColumnInView(state);
  transport.plan();
}

// What happens on the stage, for whoever listens on this page; the words of a run stay here.
function tell(state, byHand = false) {
  const check = pointed && pointed.row === "verdict" && state ? state.checks[pointed.column] : null;
  const now = state && state.kind === "verdict" ? state.checks[lastVerdict(state)].state : "";
  const detail = { kind: state ? state.kind : "", byHand, source: timeline.source, ended: Boolean(timeline.end), verdict: now, pointed: check ? check.state : "",
                   lossless: Boolean(timeline.run && timeline.run.lossless), plain: Boolean(timeline.run && timeline.run.settings.plain),
                   flips: whatIf === null ? 0 : flips(timeline, whatIf).all.length, guesses: predictor.guesses.size };
  document.dispatchEvent(new CustomEvent("sd-show", { detail }));
}

function drawHeader() {
  const { run, source } = timeline;
  setText($(".sd-badge"), !run ? "" : source === "live" && timeline.end ? words.liveEnded : words[source]);
  if (!run) return;
  define($(".sd-badge"), words[source + "Help"]);
  const settings = run.settings;
  setText($(".sd-setting"), settings.plain ? words.plain : fill(words.setting, heardAll(settings, words.written)));
  const where = heardAll({ ...run.models, ...run.machine }, words.written);
  setText($(".sd-where"), where.verifier ? fill(settings.plain ? words.whereAlone : words.where, where) : "");
  setText($(".sd-law"), run.lossless ? words.lossless : words.lossy);
  define($(".sd-law"), words.lawHelp);
  $(".sd-law").dataset.lossless = run.lossless;
}

function drawTable(state) {
  const wanted = state.shape.columns + "x" + state.shape.steps;
  const table = $(".sd-block");
  setHidden(table, !state.shape.columns);
  if (wanted !== shape) { block = makeBlock(table, state.shape, words); shape = wanted; }
  table.classList.toggle("sd-dense", state.shape.steps > 6);
  table.classList.toggle("sd-wide", state.shape.columns > 16);
  setAttribute(table, "aria-label", fill(words.block, { cycle: state.cycle }));
  drawBlock(block, timeline, state, states, words);
  oneTabStop();
}

function keepColumnInView(state) {
  const now = state.kind === "verdict" ? block.checks[lastVerdict(state)].parentElement : null;
  const box = $(".sd-scroll");
  if (now && box.scrollWidth > box.clientWidth) box.scrollLeft = now.offsetLeft - box.clientWidth / 2;
  else if (state.kind === "denoise" && transport.playing) box.scrollLeft = 0;
}

function drawTransport(state) {
  const mode = root.dataset.mode, scrub = $(".sd-scrub"), speed = String(transport.speed);
  setText($(".sd-play"), mode === "ended" ? words.replay : mode === "playing" ? words.pause : words.play);
  scrub.value = transport.head;
  setAttribute(scrub, "aria-valuetext", $(".sd-caption").textContent);
  if ($(".sd-speed").value !== speed) $(".sd-speed").value = speed;
  $(".sd-follow").checked = transport.follow;
  const at = state ? (state.at < 1000 ? milliseconds(state.at) : (state.at / 1000).toFixed(2) + " s") : "";
  const live = transport.follow && !timeline.end; // the head then follows the decoder, not the pace
  const factor = live ? 0 : slowMotion(timeline, transport.head, transport.speed);
  const printed = (x) => (x < 10 ? x.toFixed(1) : x.toFixed(0));
  define($(".sd-clock"), state ? words.clockHelp : "");
  setText($(".sd-clock"), !state ? "" : !factor ? fill(words.clock, { at })
    : factor >= 1 ? fill(words.slower, { factor: printed(factor), at }) : fill(words.faster, { factor: printed(1 / factor), at }));
}

// One polite sentence per cycle while playing, one per step by hand.
function announce(state, sentence, byHand) {
  if (!byHand && !["emit", "end"].includes(state.kind)) return;
  if (sentence !== spoken) { spoken = sentence; setText($(".sd-spoken"), sentence); }
}

// The card follows the examination unless a person points at a token.
function showCard(state) {
  const now = state && state.kind === "verdict" ? lastVerdict(state) : -1;
  const target = pointed || (now >= 0 ? { row: "verdict", column: now } : state && state.emit ? lastTarget(state) : null);
  drawCard($(".sd-card"), timeline, state, target, pinned, words.card);
}
const lastTarget = (state) => ({ row: "written", column: state.emit.tokens.length - 1 });

function targetOf(node) {
  const chip = node.closest && node.closest(".sd-block .sd-chip[data-state]");
  if (!chip) return null;
  const cell = chip.parentElement, row = cell.parentElement;
  return { row: row.className.includes("sd-written") ? "written" : "verdict", column: cell.cellIndex - 1 };
}
function point(target, pin) {
  if (pinned && !pin) return;
  [pointed, pinned] = [target, Boolean(target && pin)];
  showCard(stateNow());
  if (target) tell(stateNow());
}

// Tokens are one tab stop; arrow keys walk among them while one has the focus.
function rove(event) {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const all = [...$(".sd-block").querySelectorAll("button.sd-chip[data-state]")], at = all.indexOf(event.target);
  if (!by || at < 0 || event.shiftKey) return;
  event.preventDefault();
  (all[at + by] || event.target).focus();
}
function oneTabStop(wanted) {
  const stop = wanted || (block.stop && block.stop.dataset.state ? block.stop : [...block.checks, ...block.written].find((chip) => chip.dataset.state));
  if (!stop || stop === block.stop) return;
  if (block.stop) block.stop.tabIndex = -1;
  stop.tabIndex = 0;
  block.stop = stop;
}

// A guess is given: the coins may fall.
function answer(kept) {
  predictor.guess(timeline.frames[transport.head].cycle, kept);
  transport.play();
  $(".sd-play").focus();
}
// To the end of this cycle; a cycle that waits for a guess stays.
function reveal() {
  const cycle = timeline.cycles[(timeline.frames[transport.head] || {}).cycle];
  if (!cycle || predictor.waits(timeline, transport.head)) return;
  transport.seek(seekFrame(timeline, transport.head - 1, 1, (frame) => frame.emitted));
}

function bring(value) {
  props.value = value; // other views look at the run on the stage there
  read(value, true);
  document.dispatchEvent(new CustomEvent("sd-opened"));
  if (server) trigger("brought", { run: timeline.run, stats: timeline.end ? timeline.end.stats : {} });
}
async function openFile(input) {
  const file = input.files[0];
  input.value = "";
  if (!file) return;
  try {
    if (file.size > 20e6) throw new Error(words.open.tooLarge);
    bring(openedRun(await file.text(), words.open));
    setText($(".sd-open-says"), "");
  } catch (error) { setText($(".sd-open-says"), error.message); }
}

async function keepLesson() {
  try { saveLesson(await server.lesson_page(), consumed, timeline); } catch { setText($(".sd-open-says"), words.open.noServer); }
}

function wire() {
  const named = { back: "back", forward: "forward", "back-cycle": "backCycle", "forward-cycle": "forwardCycle" };
  for (const [name, word] of Object.entries(named)) {
    const button = $(".sd-" + name);
    button.onclick = transport.actions[word];
    button.title = words[word];
    button.setAttribute("aria-label", words[word]);
  }
  $(".sd-play").onclick = transport.toggle;
  $(".sd-scrub").oninput = (event) => transport.seek(Number(event.target.value));
  $(".sd-scrub").setAttribute("aria-label", words.scrub);
  for (const speed of SPEEDS) $(".sd-speed").append(new Option(speed + "×", String(speed)));
  $(".sd-speed").onchange = (event) => transport.setSpeed(Number(event.target.value));
  $(".sd-speed").setAttribute("aria-label", words.speed);
  $(".sd-follow").onchange = (event) => transport.setFollow(event.target.checked);
  $(".sd-rejection").onclick = transport.actions.rejection;
  $(".sd-lenient").onclick = transport.actions.lenient;
  $(".sd-pin").onclick = () => {
    pin.set(pin.timeline ? null : timeline);
    $(".sd-pin").setAttribute("aria-pressed", String(Boolean(pin.timeline)));
    setText($(".sd-pin"), pin.timeline ? words.pin.off : words.pin.on);
    showRun();
    show(false);
  };
  setText($(".sd-pin"), words.pin.on);
  $(".sd-save").onclick = () => saveRun(consumed, timeline);
  $(".sd-rounds").onclick = () => download("cycles.csv", "text/csv", cycleRows(timeline));
  $(".sd-lesson").onclick = keepLesson;
  $(".sd-lesson").hidden = !server;
  $(".sd-kept").onclick = () => bring(kept);
  $(".sd-open").onchange = (event) => openFile(event.target);
  $(".sd-present").onclick = () => presenter.present(!presenter.on);
  $(".sd-predict-on").onchange = (event) => { root.classList.toggle("sd-predicting", predictor.on = event.target.checked); show(false); };
  $(".sd-keys-on").onchange = (event) => { transport.keys = event.target.checked; };
  const still = $(".sd-still");
  still.onchange = () => root.classList.toggle("sd-unmoving", still.checked);
  still.checked = matchMedia("(prefers-reduced-motion: reduce)").matches;
  still.onchange();
  const judge = (leniency) => { whatIf = leniency; showRun(); show(false); };
  $(".sd-whatif-slider").oninput = (event) => judge(Number(event.target.value));
  $(".sd-whatif-reset").onclick = () => { judge(null); $(".sd-whatif-slider").focus(); };
  $(".sd-whatif-go").onclick = () => transport.seekVerdict(flips(timeline, whatIf).first.frame);
  $(".sd-table").ontoggle = () => drawCycleTable(timeline, stateNow(), states, words.table);
  for (const [selector, word] of [[".sd-title", "title"], [".sd-empty", "empty"], [".sd-follow-word", "follow"], [".sd-kept", "kept"], [".sd-save", "save"],
                                  [".sd-lesson", "lesson"], [".sd-rounds", "rounds"], [".sd-rejection", "rejection"], [".sd-lenient", "lenient"], [".sd-still-word", "still"], [".sd-present", "present"], [".sd-predict-word", "predictOn"],
                                  [".sd-open-word", "openRun"], [".sd-keys-word", "keysOn"], [".sd-table summary", "cycleTable"],
                                  [".sd-whatif-label", "whatIfLabel"], [".sd-whatif-go", "whatIfGo"], [".sd-whatif-reset", "whatIfReset"],
                                  [".sd-keys summary", "keys"], [".sd-legend-title", "legend"], [".sd-ahead-note", "ahead"], [".sd-coin-note", "coins"]]) setText($(selector), words[word]);
  for (const [key, help] of props.keys) $(".sd-keys dl").append(el("dt", "", key), el("dd", "", help));
  makeLegend($(".sd-legend-items"), states, words.sample);
  root.addEventListener("mouseover", tooltip);
  const table = $(".sd-block");
  table.onmouseover = (event) => point(targetOf(event.target));
  table.onmouseleave = () => point(null);
  table.addEventListener("focusin", (event) => { oneTabStop(event.target.closest("button.sd-chip")); point(targetOf(event.target)); });
  table.addEventListener("keydown", rove);
  table.addEventListener("focusout", ({ target }) => { point(null); if (target.drawn && !target.dataset.state) hideChip(target); });
  table.onclick = (event) => { const target = targetOf(event.target); pinned = false; point(target, true); };
  $(".sd-text").onclick = (event) => {
    const part = event.target.closest("[data-cycle]"), cycle = part && timeline.cycles[part.dataset.cycle];
    if (cycle && !String(getSelection())) transport.seek(cycle.first);
  };
}

function listen(event) {
  if (!element.isConnected) return document.removeEventListener("keydown", listen);
  if (!root.getClientRects().length) return; // another view is open
  const own = { "?": presenter.help, p: () => presenter.present(!presenter.on), r: reveal }[event.key.toLowerCase()];
  if (event.key === "Escape") { pinned = false; point(null); presenter.present(false); }
  else if (own && transport.keys && !transport.elsewhere(event)) own();
  else transport.key(event);
}

wire();
document.addEventListener("keydown", listen);
if (server) addEventListener("pagehide", () => keepRun(consumed, timeline));
// A link asks for a cycle of the run on the stage, counted from 1.
function seekCycle() {
  const cycle = timeline.cycles.find(({ number }) => number === props.cycle);
  if (cycle) transport.seek(cycle.first);
}
watch("value", () => read(props.value || ""));
watch("cycle", seekCycle); // after the value that came with it
read(props.value || "");
// The player that stood here while the page was loading (early.js) hands over where it is.
const early = document.getElementById("early");
if (early && !early.contains(element)) {
  const { frame, mode } = early.querySelector(".sd").dataset;
  early.remove();
  Object.assign(transport, { head: Number(frame), playing: mode === "playing" });
  show(false);
}
