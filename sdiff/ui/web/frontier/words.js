// Numbers and settings in words. Refuses to know the page: everything is text, nothing is markup.
const known = (value) => typeof value === "number" && Number.isFinite(value);
const times = (value) => (known(value) ? value.toFixed(2) : "–");
const share = (value) => (known(value) ? value.toFixed(3) : "–");
const range = (low, high, shown) => (known(low) && known(high) ? "(" + shown(low) + " – " + shown(high) + ")" : "");
const percent = (value) => (known(value) ? (100 * value).toFixed(0) + " %" : "–");
const speedOf = (p) => times(p.speed) + " " + range(p.speed_low, p.speed_high, times);
const qualityOf = (p) => share(p.quality) + " " + range(p.quality_low, p.quality_high, share);

// What Plotly draws as pseudo-HTML is escaped, and its line break is the only markup.
const escaped = (text) => String(text).replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
const label = (text) => text.split("\n").filter(Boolean).map(escaped).join("<br>");

// One cell of a CSV file: quoted where it must be, and never a formula.
function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = /^[=+\-@]/.test(value) ? "'" + value : String(value);
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

const COLUMNS = ["speed", "speed_low", "speed_high", "timed", "quality", "quality_low", "quality_high", "n", "chance", "lossless", "tau", "tv", "kl", "nll", "repetition",
  "tokens_per_second", "draft_ms", "verify_ms", "examine_ms", "load"];

// Everything shown as one table: the points, this machine's, the speeds without quality, own runs.
function asCsv(data, where) {
  const knobs = ["noise", "steps", "leniency", "rule", "gamma", "proposal"];
  const parts = [["points", data.main], ["this machine", data.mine]].flatMap(([name, layer]) =>
    layer ? [...layer.points, ...layer.alone].map((p) => [name, p]) : []);
  const rows = [...parts, ...data.own.stars.map((p) => ["own run", p])].map(([name, p]) =>
    [name, data.task, ...knobs.map((k) => p.setting[k]), ...COLUMNS.map((k) => p[k])]);
  const lines = [["source", "task", ...knobs, ...COLUMNS], ...rows].map((row) => row.map(cell).join(","));
  return [...lines, "", ...where.map(cell)].join("\r\n") + "\r\n";
}
