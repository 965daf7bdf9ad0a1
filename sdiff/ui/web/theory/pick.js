// What Python needs of one examined draft: its verdict event and the labels of the tokens named in it. "" where there is none.
// `trace`: the player's NDJSON. Cycle or position 0 or empty means any: the first refused draft, else the first examined one.
function pick(trace, cycle, position) {
  const pieces = {}, verdicts = [], wanted = (value, own) => !Number(value) || Number(value) === own;
  for (const line of String(trace || "").split("\n")) {
    if (!line.startsWith("{")) continue;
    try {
      const event = JSON.parse(line);
      if (event.kind === "pieces") Object.assign(pieces, event.pieces);
      if (event.kind === "verdict" && wanted(cycle, event.cycle) && wanted(position, event.position)) verdicts.push(event);
    } catch {
      continue; // a line that is still being written
    }
  }
  const verdict = verdicts.find((v) => !v.accepted) || verdicts[0];
  if (!verdict) return "";
  const { kind, at, ...rest } = verdict, named = {};
  for (const id of [verdict.token, ...verdict.top_p.map((a) => a[0]), ...verdict.top_q.map((a) => a[0])]) if (id in pieces) named[id] = pieces[id];
  return JSON.stringify({ verdict: rest, pieces: named });
}
