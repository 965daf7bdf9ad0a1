// Plays the recording while Gradio still loads: the same player, its script and its run from the config that the page carries anyway.
// The page's own player takes its place over (player/main.js). An address that opens something else has no use for it.
(() => {
  const place = document.getElementById("early"), query = new URLSearchParams(location.search);
  const found = (window.gradio_config?.components || []).find(({ props }) => props.elem_id === "player");
  if (!found || query.has("run") || query.has("view")) return place.remove();
  const { value, js_on_load, props } = found.props, element = place.querySelector("#early-stage");
  const dark = (query.get("__theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  place.parentElement.classList.toggle("dark", dark);
  new Function("element", "props", "watch", "server", js_on_load)(element, { ...props, value }, () => {}, null);
})();
