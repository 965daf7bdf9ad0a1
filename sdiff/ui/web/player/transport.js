// Time and input: which frame is shown, and when the next one is due. Refuses to know how a frame looks.
// `show(frame, byHand)` draws; `timeline()` is the current run; `waits(k)`: frame k is not left before a person has answered; `release()` lets go
// of a token that somebody pinned, since another one is what they go to.

const SPEEDS = [0.25, 0.5, 1, 2, 4, 6]; // at 6x the shortest block, one step and one refusal, still lasts a third of a second: no more than three flashes in one
const FOLLOW_EVERY = 350; // ms between pictures when following a live run: at most three a second
const OWN_KEYS = { range: /^(Arrow|Page|Home|End)/, checkbox: /^ $/, radio: /^( |Arrow)/ }; // what a control that takes no text does itself
const LATE = 200; // ms by which a picture may be late and still count as seen: a page that was asleep goes on where it was

function makeTransport(timeline, show, waits, release) {
  const t = { head: 0, playing: true, follow: false, speed: 1, waited: 0, keys: true };
  const last = () => timeline().frames.length - 1;
  const clamp = (k) => Math.max(0, Math.min(k, last()));
  t.atEnd = () => Boolean(timeline().end) && t.head >= last();
  t.restart = () => { Object.assign(t, { head: 0, playing: true, waited: 0 }); };
  t.seek = (k) => { Object.assign(t, { head: clamp(k), playing: false, waited: 0 }); show(true); };
  t.toggle = () => {
    if (t.atEnd()) t.head = 0;
    else if (t.playing) { t.playing = false; return show(true); }
    t.play();
  };
  t.play = () => { Object.assign(t, { playing: true, waited: 0 }); show(true); };
  t.setFollow = (on) => { t.follow = on; if (on && !timeline().end) t.playing = true; show(true); };
  t.setSpeed = (speed) => { t.speed = speed; show(true); };
  t.nudgeSpeed = (by) => t.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(t.speed) + by))]);

  // Milliseconds of the viewer's time until the next picture; Infinity while the decoder has written no more, or a person is asked.
  t.due = () => {
    if (!t.playing || last() < 0) return Infinity;
    if (t.follow && !timeline().end) return FOLLOW_EVERY - t.waited;
    if (t.head >= last() || waits(t.head)) return t.atEnd() ? 0 : Infinity;
    return PACE[timeline().frames[t.head].kind] / t.speed - t.waited;
  };
  // Advances by `ms` of the viewer's time.
  t.tick = (ms) => {
    if (!t.playing || last() < 0) return;
    t.waited += ms;
    const before = t.head;
    if (t.follow && !timeline().end) {
      if (t.waited < FOLLOW_EVERY) return;
      t.waited = 0;
      t.head = seekFrame(timeline(), last() + 1, -1, (frame) => frame.emitted || frame.kind === "run");
    } else {
      while (t.head < last() && !waits(t.head) && t.waited * t.speed >= PACE[timeline().frames[t.head].kind]) {
        t.waited -= PACE[timeline().frames[t.head].kind] / t.speed;
        t.head += 1;
        if (timeline().frames[t.head].kind === "emit") break; // a late picture may jump over others, but what a cycle wrote is said
      }
      if (t.head >= last() || waits(t.head)) t.waited = 0;
    }
    if (t.atEnd()) t.playing = false;
    if (t.head !== before || !t.playing) show(false);
  };

  // One timer, set for when the next picture is due: at rest nothing runs, since the models share these cores.
  let timer = null, since = 0;
  t.plan = () => {
    const now = performance.now(), due = t.due();
    if (timer === null) since = now;
    clearTimeout(timer);
    timer = due === Infinity ? null : setTimeout(beat, due - (now - since));
  };
  function beat() {
    if (!element.isConnected) return;
    const passed = performance.now() - since;
    since += passed;
    t.tick(Math.min(passed, t.due() + LATE));
    t.plan();
  }

  const step = (direction) => () => t.seek(t.head + direction);
  const cycle = (direction) => () => t.seek(cycleFrame(timeline(), t.head, direction));
  t.seekVerdict = (k) => { release(); t.seek(k); };
  const verdict = (direction, wanted) => () => t.seekVerdict(verdictFrame(timeline(), t.head, direction, wanted));
  const rejected = ({ accepted }) => !accepted, lenient = (on) => on.lenient;
  const keys = {
    " ": t.toggle,
    ArrowLeft: step(-1), ArrowRight: step(1),
    "Shift+ArrowLeft": cycle(-1), "Shift+ArrowRight": cycle(1),
    v: () => t.seek(seekFrame(timeline(), t.head, 1, (frame) => frame.kind === "verify")),
    n: verdict(1, rejected), "Shift+N": verdict(-1, rejected),
    l: verdict(1, lenient), "Shift+L": verdict(-1, lenient),
    Home: () => t.seek(0), End: () => t.seek(last()),
    ",": () => t.nudgeSpeed(-1), ".": () => t.nudgeSpeed(1),
  };
  t.actions = { toggle: t.toggle, back: step(-1), forward: step(1), backCycle: cycle(-1), forwardCycle: cycle(1), rejection: keys.n, lenient: keys.l };
  t.elsewhere = (event) => {
    const { target, key } = event, own = target.tagName === "INPUT" && OWN_KEYS[target.type];
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.isContentEditable) return true;
    return own ? own.test(key) : /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || Boolean(target.closest("[role=tab], .sd-text"));
  };
  // Keys belong to the player unless the person is typing or operating another control, or has switched them off.
  t.key = (event) => {
    if (!t.keys || t.elsewhere(event)) return;
    if (event.key === " " && /^(BUTTON|SUMMARY|A)$/.test(event.target.tagName)) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const action = (event.shiftKey && keys["Shift+" + (name.length === 1 ? name.toUpperCase() : name)]) || keys[name];
    if (!action) return;
    event.preventDefault();
    action();
  };
  return t;
}
