// Making elements. Text of others becomes text nodes only, never markup.

/** h makes an element: h("a.tag", {href: "#"}, "text", otherElement). */
function h(what, attributes, ...children) {
  const [tag, ...classes] = what.split(".");
  const el = document.createElement(tag || "div");
  if (classes.length) el.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(el.style, value);
    else el.setAttribute(name, value === true ? "" : value);
  }
  el.append(...children.flat(9).filter((c) => c !== null && c !== undefined && c !== false && c !== ""));
  return el;
}

function verdictChip(verdict, size) {
  const el = h("span.verdict.v-" + verdict, null, h("i", { "aria-hidden": "true" }, SIGNS[verdict] || "·"), verdict.replaceAll("-", " "));
  if (size) el.classList.add(size);
  return el;
}

/** titleOfSentence shortens long ids and begins with a capital, unless a name comes first. */
const titleOfSentence = (text) => text.replace(/\b(?=\w*[a-z])(?=\w*\d)\w{20,}\b/gi, (id) => `${id.slice(0, 8)}…${id.slice(-4)}`)
  .replace(/^[a-z]+(?= )/, (word) => word[0].toUpperCase() + word.slice(1));

/** sentenceOf makes a title of the first clause of what a finding says, and returns it with the rest. */
function sentenceOf(f) {
  const [first, rest] = splitSentence(f);
  return [titleOfSentence(first), rest];
}

function splitSentence(f) {
  const text = (f.finding.message || "").replace(` (${f.finding.rule})`, "");
  if (report.shared || !text) return [`Broken: ${titleOf(f.check)}`, ""];
  for (let i = 0, isQuoted = false; i < text.length; i++) {
    if (text[i] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && i > 12 && (i > 30 ? /^(?:[;:] | \(emitted)/ : /^; /).test(text.slice(i))) return [text.slice(0, i), text.slice(i).replace(/^[;:] /, "").trim()];
  }
  return [text, ""];
}

const count = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many || one + "s"}`;

function bytesText(n) {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KiB`;
  return `${(n / 1024 / 1024).toFixed(1)} MiB`;
}

function timeText(ms) {
  if (ms === undefined || ms < 0) return "unknown";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

const facts = (pairs) => h("dl.facts", null, pairs.filter((p) => p && p[1] !== "" && p[1] !== undefined && p[1] !== null).map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
const card = (title, ...children) => h("section.card", null, title ? h("h2", null, title) : null, children);
const emptyNote = (text) => h("p.empty", null, text);

/** outsideLink is a link to another site, if its address is safe, else plain text. */
function outsideLink(url, label) {
  if (!/^https:\/\//.test(url || "")) return h("span", null, label || url || "");
  return h("a", { href: url, rel: "noreferrer noopener", target: "_blank" }, label || url);
}

function crumbs(...parts) {
  return h("nav.crumbs", { "aria-label": "Where you are" }, parts.map(([label, href], i) => [i ? " / " : "", h("a", { href }, label)]));
}
