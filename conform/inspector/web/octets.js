// The bytes of a body: laid out by its structure, as text, or in hexadecimal. Each row
// knows the offset of its first byte, so that a finding can be shown where it is.

const WIDTH = 120; // characters of a row of text
const MODES = { structure: "Structure", text: "Text", hex: "Hex" };

function octetsView(body, options) {
  const mode = MODES[options.mode] ? options.mode : "structure";
  const el = h("div");
  const find = h("input", { type: "search", placeholder: "Find in this body", "aria-label": "Find in this body" });
  const controls = h("div.filters", null, find, Object.keys(MODES).map((m) => h("button.chip", { type: "button", "aria-pressed": String(m === mode), onclick: () => options.setMode(m) }, MODES[m])));
  const view = { el, controls, keys: {} };
  if (!body || body.n === 0 || (body.n > 0 && !body.c)) {
    controls.replaceChildren();
    el.append(emptyNote(!body ? "The recording does not hold this body." : body.n ? `${body.n.toLocaleString("en")} bytes with the hash ${body.h}. This copy of the report holds no content.` : "The body is empty."));
    return view;
  }
  el.append(emptyNote("Unpacking…"));
  bytesOf(body).then((bytes) => {
    const rows = rowsOf(bytes, mode);
    const here = options.offset >= 0 ? rowAt(rows, options.offset) : -1;
    const list = virtualList({ count: rows.length, height: 20, label: "Bytes", active: here, row: (i) => octetRow(rows[i], mode, i === here ? options.offset : -1), classOf: (i) => (i === here ? "here" : "") });
    list.el.classList.add("octets");
    el.replaceChildren(list.el);
    list.draw();
    if (here >= 0) list.reveal(here, true);
    Object.assign(view.keys, listKeys(list));
    find.addEventListener("keydown", (e) => {
      if (e.key !== "Enter" || !find.value) return;
      const found = nextRow(bytes, rows, find.value, list.active);
      if (found >= 0) list.select(found);
      find.setCustomValidity(found < 0 ? "not found" : "");
    });
  });
  return view;
}

/** nextRow finds the row of the next place of text behind row from, or of the first. */
function nextRow(bytes, rows, text, from) {
  const places = [];
  const needle = new TextEncoder().encode(text);
  for (let i = bytes.indexOf(needle[0]); i >= 0; i = bytes.indexOf(needle[0], i + 1)) {
    if (needle.every((b, k) => bytes[i + k] === b)) places.push(rowAt(rows, i));
  }
  return places.find((row) => row > from) ?? places[0] ?? -1;
}

/** rowAt finds the last row that begins at or before offset. */
function rowAt(rows, offset) {
  let low = 0, high = rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (rows[middle].at <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

function rowsOf(bytes, mode) {
  if (mode === "hex") return Array.from({ length: Math.ceil(bytes.length / 16) }, (_, i) => ({ at: i * 16, bytes: bytes.subarray(i * 16, i * 16 + 16) }));
  if (mode === "structure") {
    const first = bytes.find((b) => b > 32);
    if (first === 0x7b || first === 0x5b) return structureRows(bytes, 0, bytes.length, 0);
  }
  return lineRows(bytes, mode === "structure");
}

/** lineRows cuts at line ends, and long lines in pieces. JSON of events is laid out. */
function lineRows(bytes, laysOut) {
  const rows = [];
  for (let at = 0; at < bytes.length;) {
    let end = bytes.indexOf(10, at);
    if (end < 0) end = bytes.length;
    const brace = at + 6;
    if (laysOut && bytes[brace] === 0x7b && decodeText(bytes.subarray(at, brace)) === "data: ") {
      rows.push({ at, text: "data:" });
      rows.push(...structureRows(bytes, brace, end, 2));
    } else if (end === at) rows.push({ at, text: "" });
    for (let i = at; !(laysOut && rows.length && rows.at(-1).at >= at) && i < end;) {
      let to = Math.min(end, i + WIDTH);
      while (to < end && (bytes[to] & 0xc0) === 0x80) to++;
      rows.push({ at: i, text: decodeText(bytes.subarray(i, to)).replace(/\r$/, "") });
      i = to;
    }
    at = end + 1;
  }
  return rows.length ? rows : [{ at: 0, text: "" }];
}

/**
 * structureRows lays out JSON: a row for each member and element, long strings in
 * several. It reads tokens only, so that it shows broken JSON, too.
 */
function structureRows(bytes, from, to, indent) {
  const rows = [];
  let depth = indent, row = null;
  const put = (at, text, kind) => {
    if (!row) {
      row = { at, depth, spans: [] };
      rows.push(row);
    }
    row.spans.push([at, text, kind]);
  };
  for (let i = from; i < to;) {
    const b = bytes[i];
    if (b <= 32) { i++; continue; }
    if (b === 0x22) {
      const end = stringEnd(bytes, i, to);
      let next = end;
      while (next < to && bytes[next] <= 32) next++;
      const isName = bytes[next] === 0x3a;
      if (isName) put(i, decodeText(bytes.subarray(i, end)), "k-name");
      else {
        for (let k = i; k < end;) {
          let stop = Math.min(end, k + WIDTH);
          while (stop < end && (bytes[stop] & 0xc0) === 0x80) stop++;
          if (k > i) row = null;
          put(k, decodeText(bytes.subarray(k, stop)), "k-text");
          if (k > i) row.depth = depth + 1;
          k = stop;
        }
      }
      i = end;
    } else if (b === 0x7b || b === 0x5b) {
      const close = nextSolid(bytes, i + 1, to);
      if (bytes[close] === b + 2) {
        put(i, b === 0x7b ? "{}" : "[]");
        i = close + 1;
      } else {
        put(i, String.fromCharCode(b));
        depth++;
        row = null;
        i++;
      }
    } else if (b === 0x7d || b === 0x5d) {
      depth = Math.max(indent, depth - 1);
      row = null;
      put(i, String.fromCharCode(b));
      i++;
    } else if (b === 0x2c) {
      put(i, ",");
      row = null;
      i++;
    } else if (b === 0x3a) {
      put(i, ": ");
      i++;
    } else {
      let end = i + 1;
      while (end < to && bytes[end] > 32 && ![0x2c, 0x7d, 0x5d, 0x3a, 0x22].includes(bytes[end])) end++;
      put(i, decodeText(bytes.subarray(i, end)), "k-number");
      i = end;
    }
  }
  return rows.length ? rows : [{ at: from, depth: 0, spans: [] }];
}

function stringEnd(bytes, at, to) {
  for (let i = at + 1; i < to; i++) {
    if (bytes[i] === 0x5c) i++;
    else if (bytes[i] === 0x22) return i + 1;
  }
  return to;
}

function nextSolid(bytes, at, to) {
  while (at < to && bytes[at] <= 32) at++;
  return at;
}

function octetRow(row, mode, offset) {
  const off = h("span.off", null, row.at.toLocaleString("en"));
  if (mode === "hex") return [off, hexSpans(row.bytes, offset - row.at, offset >= 0 ? 1 : 0)];
  if (row.spans) return [off, h("span", null, " ".repeat(row.depth * 2)), row.spans.map(([at, text, kind], i) => {
    const isHere = offset >= at && offset < (row.spans[i + 1] ? row.spans[i + 1][0] : Infinity);
    return h(isHere ? "mark" : "span" + (kind ? "." + kind : ""), null, text);
  })];
  return [off, h("span", null, row.text)];
}

/** hexSpans shows up to 16 bytes; from marks the first of count bytes that are marked. */
function hexSpans(bytes, from, count) {
  const hex = [], text = [];
  bytes.forEach((b, i) => {
    const isMarked = count > 0 && i >= from && i < from + count;
    const two = b.toString(16).padStart(2, "0"), sign = b >= 32 && b < 127 ? String.fromCharCode(b) : "·";
    hex.push(isMarked ? h("mark", null, two) : two, i === 7 ? "  " : " ");
    text.push(isMarked ? h("mark", null, sign) : sign);
  });
  return h("span", null, hex, " ".repeat((16 - bytes.length) * 3 + (bytes.length < 8 ? 1 : 0) + 1), text);
}
