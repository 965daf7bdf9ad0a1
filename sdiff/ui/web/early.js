// Plays the recording while Gradio still loads: the same player, from the parts that stand in the page's config anyway.
// The page's own player takes its place over (player/main.js). An address that opens something else has no use for it.
(() => {
  const place = document.getElementById("early"), query = new URLSearchParams(location.search);
  const found = (window.gradio_config.components || []).find(({ props }) => props.elem_id === "player");
  if (!found || query.has("run") || query.has("view")) return place.remove();
  const { value, html_template, css_template, js_on_load, props } = found.props, element = place.querySelector("#early-stage"), style = document.createElement("style");
  const dark = (query.get("__theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  place.parentElement.classList.toggle("dark", dark);
  style.textContent = "#early-stage { " + css_template + " }";
  element.innerHTML = html_template; // static: no text of a run is in it
  place.append(style);
  new Function("element", "props", "watch", "server", js_on_load)(element, { ...props, value }, () => {}, null);
})();
