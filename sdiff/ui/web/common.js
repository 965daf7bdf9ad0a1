// What every component's script begins with: its own nodes and text. Model and visitor text goes through textContent alone.
const $ = (selector) => element.querySelector(selector);
const el = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};
const setText = (node, text) => { if (node.textContent !== text) node.textContent = text; };
const setHidden = (node, hidden) => { if (node.hidden !== hidden) node.hidden = hidden; };
const setAttribute = (node, name, value) => { if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value); };
const fill = (template, values) => template.replace(/\{(\w+)\}/g, (all, key) => (key in values ? String(values[key]) : all));
// What a number means, for whoever points at it, focuses it or listens (help.css); "" takes it away.
function define(node, text) {
  if ((node.dataset.help || "") === text) return node;
  for (const [name, value] of [["data-help", text], ["tabindex", "0"], ["aria-description", text]]) {
    if (text) node.setAttribute(name, value);
    else node.removeAttribute(name);
  }
  return node;
}
