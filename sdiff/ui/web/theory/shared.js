// Small helpers of the theory view: text nodes and SVG nodes. Refuses to compute anything that is shown.
const words = props.words;
const number = (x) => (x < 1e-9 ? "0" : x === 1 ? "1" : x < 0.0005 ? x.toExponential(0) : x.toFixed(3));

function svg(tag, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
// Calls draw(width) now and whenever the element gets another width; a hidden tab has none.
function whenWide(draw) {
  let width = 0;
  new ResizeObserver(() => {
    const now = element.clientWidth;
    if (now && now !== width) draw((width = now));
  }).observe(element);
}
