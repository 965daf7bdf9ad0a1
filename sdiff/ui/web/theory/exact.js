// The table of Proposition 2 as Python enumerated it. Refuses to judge: "lossless" and every number arrive ready.
const shown = (x) => (x < 1e-9 ? "0" : x < 0.0005 ? x.toExponential(1) : x.toFixed(4));
function draw() {
  const data = props.value ? JSON.parse(props.value) : null;
  $(".th-empty").hidden = Boolean(data);
  $(".th-scroll").hidden = $(".th-note").hidden = !data;
  if (!data) return;
  const thead = el("thead"), head = el("tr"), body = el("tbody");
  for (const [name, help] of words.columns) {
    const th = Object.assign(el("th", "", name), { scope: "col" });
    if (help) th.append(el("span", "th-small", help));
    head.append(th);
  }
  thead.append(head);
  for (const row of data.rows) {
    const tr = el("tr"), proposal = Object.assign(el("th", "", row.proposal), { scope: "row" });
    proposal.append(el("span", "th-small", row.help));
    const verdict = el("td", "th-verdict", words[row.verdict]);
    verdict.dataset.verdict = row.verdict;
    tr.append(el("td", "", row.noise), proposal, verdict);
    for (const text of [shown(row.distance), row.accepted.toFixed(3), shown(row.lenient_distance), row.lenient_accepted.toFixed(3), row.ms.toFixed(0)]) tr.append(el("td", "th-number", text));
    body.append(tr);
  }
  $(".th-exact").replaceChildren(thead, body);
}
for (const [selector, word] of [[".th-empty", "empty"], [".th-note", "note"]]) setText($(selector), words[word]);
$(".th-scroll").setAttribute("aria-label", words.region);
watch("value", draw);
draw();
