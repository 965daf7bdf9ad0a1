// Eight steps, each ending in an action that is checked from what the stage and the race report. Refuses to know how they look.

const words = props.words, steps = words.steps;
const tour = { at: 0, done: steps.map(() => false) };

// What counts as having done a step. `d` is the detail of an sd-show or sd-race event.
const CHECKS = {
  verify: (d) => d.byHand && d.kind === "verify",
  rejection: (d) => d.byHand && d.verdict === "rejected",
  why: (d) => d.pointed === "rejected",
  predict: (d) => d.guesses >= 3,
  flip: (d) => d.flips > 0,
  strict: (d) => d.source === "live" && d.ended && d.lossless && !d.plain,
  lenient: (d) => d.source === "live" && d.ended && !d.lossless,
  race: (d) => Boolean(d.raced),
};

function seen(event) {
  if (!element.isConnected) return stop();
  if ($(".tr-body").hidden) return; // nobody is in the lesson
  steps.forEach((step, i) => { if (!tour.done[i] && i <= tour.at && CHECKS[step.check](event.detail)) tour.done[i] = true; });
  draw();
}

function draw() {
  const step = steps[tour.at], done = tour.done[tour.at];
  setText($(".tr-title"), fill(words.title, { at: tour.at + 1, of: steps.length, name: step.name }));
  setText($(".tr-text"), step.text);
  setText($(".tr-done"), done ? words.mark + " " + step.learnt : "");
  $(".tr-back").disabled = tour.at === 0;
  $(".tr-next").disabled = tour.at === steps.length - 1;
  setText($(".tr-next"), done ? words.next : words.skip);
  [...$(".tr-marks").children].forEach((mark, i) => {
    mark.dataset.done = String(tour.done[i]);
    setText(mark, tour.done[i] ? words.mark : String(i + 1));
    mark.setAttribute("aria-label", fill(tour.done[i] ? words.stepDone : words.stepOpen, { n: i + 1 }));
    if (i === tour.at) mark.setAttribute("aria-current", "step"); else mark.removeAttribute("aria-current");
  });
}

function move(by) {
  tour.at = Math.max(0, Math.min(steps.length - 1, tour.at + by));
  draw();
}
function toggle(open) {
  $(".tr-body").hidden = !open;
  $(".tr-open").setAttribute("aria-expanded", String(open));
  setText($(".tr-open"), open ? words.close : words.open);
}
function stop() {
  document.removeEventListener("sd-show", seen);
  document.removeEventListener("sd-race", seen);
}

steps.forEach(() => $(".tr-marks").append(document.createElement("li")));
setText($(".tr-back"), words.back);
$(".tr-open").onclick = () => toggle($(".tr-body").hidden);
$(".tr-back").onclick = () => move(-1);
$(".tr-next").onclick = () => move(1);
document.addEventListener("sd-show", seen);
document.addEventListener("sd-race", seen);
toggle(false);
draw();
