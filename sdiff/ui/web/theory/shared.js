// Small helpers of the theory view: text nodes and SVG nodes. Refuses to compute anything that is shown.
const $ = (selector) => element.querySelector(selector);
const words = props.words;
const fill = (template, values) => template.replace(/\{(\w+)\}/g, (all, key) => (key in values ? String(values[key]) : all));
const number = (x) => (x < 1e-9 ? "0" : x === 1 ? "1" : x < 0.0005 ? x.toExponential(0) : x.toFixed(3));

function el(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}
function svg(tag, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
// Calls draw(width) now and whenever the element gets another width; a hidden tab has none.
function whenWide(draw) {
  let width = 0;
  new ResizeObserver(() => {
    const now = element.clientWidth;
    if (now && now !== width) draw((width = now));
  }).observe(element);
}
