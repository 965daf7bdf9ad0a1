// One sentence with a tone; text only.
const line = element.querySelector(".sd-line");
function draw() {
  const [, tone, text] = /^(\w*):([^]*)$/.exec(props.value || "") || ["", "", props.value || ""];
  line.setAttribute("aria-live", tone === "busy" && line.dataset.tone === "busy" ? "off" : "polite"); // counting goes on silently
  line.dataset.tone = tone;
  if (line.textContent !== text) line.textContent = text;
}
watch("value", draw);
draw();
