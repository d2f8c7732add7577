// The round trip of a block: as the provider emitted it, and as it was sent back.

function showTrip(main, c, number, request) {
  const block = (c.blocks || [])[number];
  const back = block && block.returns.find((r) => r.exchange === request);
  if (!back) return showMissing(main);
  main.append(h("div.page", null,
    h("div.hero", null, h("div", null, crumbs(["Cases", "#/cases"], [c.name, caseLink(c)]), h("h1", null, `Round trip of a ${block.what}`),
      h("p.lead", null, "Emitted in ", h("a", { href: exchangeLink(c, block.exchange, { side: "response", at: block.offset }) }, `exchange ${block.exchange}`), `, ${RETURN_WORDS[back.state]} in `, h("a", { href: exchangeLink(c, back.exchange, { at: back.offset }) }, `request ${back.exchange}`), "."))),
    h("div.dots", { "aria-label": "Other requests" }, block.returns.map((r) => h(`a.dot.${r.state}`, { href: caseLink(c, "trip", String(number), String(r.exchange)), "aria-current": r === back ? "true" : null, title: RETURN_WORDS[r.state] }, `${RETURN_SIGNS[r.state]}${r.exchange}`))),
    tripFields(block, back)));
  return { up: caseLink(c) };
}

/** tripFields shows each field of a block beside what came back. */
function tripFields(block, back) {
  if (back.state === "missing") return h("div.stack", null, h("p.notice", null, "The request left this block out."), block.fields.map((f) => card(f.name, bodyText(f.value))));
  const changes = new Map((back.changes || []).map((change) => [change.field, change]));
  const names = [...new Set([...block.fields.map((f) => f.name), ...changes.keys()])].sort((a, b) => changes.has(b) - changes.has(a));
  return h("div.stack", null, names.map((name) => {
    const field = block.fields.find((f) => f.name === name), change = changes.get(name);
    if (!change) return card(null, h("details", null, h("summary", null, h("span.dot.same", null, "="), ` ${name}: ${bytesText(field.value.n)}, unchanged`), bodyText(field.value)));
    return tripField(name, field ? field.value : { n: 0, c: [] }, change);
  }));
}

function tripField(name, was, change) {
  const el = h("section.card", null, h("h2", null, h(`span.dot.${change.state}`, null, RETURN_SIGNS[change.state]), ` ${name}: `,
    change.state === "respelled" ? "the same value in other bytes, " : "", `first different byte at ${change.at.toLocaleString("en")}; emitted with ${was.n.toLocaleString("en")} bytes, sent back with ${change.value.n.toLocaleString("en")}`));
  Promise.all([bytesOf(was), bytesOf(change.value)]).then(([a, b]) => {
    if (!a || !b) {
      el.append(h("p.muted", null, `Hashes: ${was.h || "–"} emitted, ${change.value.h || "–"} sent back. This copy of the report holds no content.`));
      return;
    }
    const pair = (show) => h("div.pair", null, [["As emitted", a], ["As sent back", b]].map(([title, bytes]) => h("div", null, h("h3", null, title), show(bytes))));
    el.append(pair((bytes) => textAround(bytes, change.at)), h("p.muted", { style: { margin: "12px 0 6px" } }, "The bytes around the place"), pair((bytes) => hexAround(bytes, bytes === a ? b : a, change.at)));
  });
  return el;
}

const AROUND = 400;

/** textAround shows text with the differing byte marked. */
function textAround(bytes, at) {
  let from = Math.max(0, at - AROUND), mark = Math.min(at, bytes.length), end = Math.min(bytes.length, mark + 1), to = Math.min(bytes.length, at + AROUND);
  while (from > 0 && (bytes[from] & 0xc0) === 0x80) from--;
  while (mark > from && mark < bytes.length && (bytes[mark] & 0xc0) === 0x80) mark--;
  while (end < bytes.length && (bytes[end] & 0xc0) === 0x80) end++;
  while (to < bytes.length && (bytes[to] & 0xc0) === 0x80) to++;
  const here = mark < bytes.length ? decodeText(bytes.subarray(mark, end)) : "(ends here)";
  return h("div.bytes", null, from > 0 && "…\u2060", decodeText(bytes.subarray(from, mark)), h("mark", { title: `byte ${at}` }, here === "\n" ? "⏎\n" : here), decodeText(bytes.subarray(end, Math.max(end, to))), to < bytes.length && "…");
}

/** hexAround shows rows of bytes around a place; those that differ are marked. */
function hexAround(bytes, other, at) {
  const first = Math.max(0, (at >> 4) - 2) << 4;
  const rows = [];
  for (let row = first; row < first + 96 && row < bytes.length; row += 16) {
    const part = bytes.subarray(row, row + 16);
    const differs = [...part].map((b, i) => b !== other[row + i]);
    const hex = [], text = [];
    part.forEach((b, i) => {
      const two = b.toString(16).padStart(2, "0"), sign = b >= 32 && b < 127 ? String.fromCharCode(b) : "·";
      hex.push(differs[i] ? h("mark", null, two) : two, i === 7 ? "  " : " ");
      text.push(differs[i] ? h("mark", null, sign) : sign);
    });
    rows.push(h("span.faint", null, row.toString(16).padStart(6, "0") + "  "), ...hex, " ".repeat((16 - part.length) * 3 + (part.length < 8 ? 1 : 0) + 1), ...text, "\n");
  }
  if (!rows.length) rows.push(`no byte ${at}: the value ends before it`);
  else if (at >= bytes.length) rows.push(h("mark", null, `ends at byte ${bytes.length}`));
  return h("div.bytes.hex", null, rows);
}
