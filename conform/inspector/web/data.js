// The document of the page, and what is looked up in it.

/** inflate returns a response whose body is what gzip and base64 were made of. */
function inflate(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
}

if (!("DecompressionStream" in window)) document.querySelector("#main > .empty").textContent = "This browser cannot unpack the report. Open it in a current one.";

const report = await inflate(document.getElementById("data").textContent).json();

/** Signs of the verdicts, worst first. */
const SIGNS = {
  "harness-error": "E", fail: "✕", stale: "S", flaky: "~", "not-testable": "?", warn: "!",
  "known-fail": "K", contradicted: "C", pass: "✓", "not-applicable": "–",
};
const ORDER = Object.keys(SIGNS);
const rank = (verdict) => ORDER.indexOf(verdict);

/** What a breach leads to, the worst first. */
const HARMS = ["crash", "refused", "unsafe", "wrong", "degraded", "wasteful", "cosmetic"];
const byHarm = (f, g) => rank(f.verdict) - rank(g.verdict) || HARMS.indexOf(f.finding.consequence) - HARMS.indexOf(g.finding.consequence);

const areaOf = (check) => check.split("-")[0];
const requirementOf = (check) => check.split("/")[0];

/** Lookups that are made again whenever a live page grows. */
let index;

function buildIndex() {
  index = { cases: new Map(), requirements: new Map(), findings: [], cells: new Map(), counts: {}, providers: new Set(), ingress: new Set(), chunks: [] };
  for (const r of report.requirements) index.requirements.set(r.id, r);
  for (const c of report.cases) {
    index.cases.set(c.name, c);
    for (const p of (c.provider || "").split(",")) if (p) index.providers.add(p);
    if (c.ingress) index.ingress.add(c.ingress);
    for (const r of c.results || []) indexResult(c, r);
  }
  index.findings.sort(byHarm);
  index.causes = causesOf(index.findings);
  (report.packs || []).forEach((pack, number) => {
    let at = 0;
    for (const size of pack.sizes) {
      index.chunks.push([number, at, size]);
      at += size;
    }
  });
}

function indexResult(c, r) {
  const key = requirementOf(r.check) + "\n" + c.name;
  const cell = index.cells.get(key) || { verdict: null, observed: 0, findings: 0, reason: "" };
  if (cell.verdict === null || rank(r.verdict) < rank(cell.verdict)) cell.verdict = r.verdict;
  cell.observed += r.observed || 0;
  cell.findings += (r.findings || []).length;
  cell.reason = cell.reason || r.reason || "";
  index.cells.set(key, cell);
  (r.findings || []).forEach((finding, number) => {
    const verdict = r.verdict === "known-fail" && finding.verdict !== "contradicted" ? r.verdict : finding.verdict; // as the summary counts
    index.findings.push({ case: c, check: r.check, number, finding, verdict, ofSource: r.of_source });
    index.counts[verdict] = (index.counts[verdict] || 0) + 1;
  });
}

/** causesOf puts findings of one kind together, the worst and most frequent first. */
function causesOf(findings) {
  const causes = new Map();
  for (const f of findings) {
    if (f.finding.cause) continue;
    const key = [f.verdict, f.check, f.finding.form || (report.shared ? "" : f.finding.message)].join("\n");
    const cause = causes.get(key) || { first: f, findings: [], cases: new Set() };
    cause.findings.push(f);
    cause.cases.add(f.case);
    causes.set(key, cause);
  }
  return [...causes.values()].sort((a, b) => byHarm(a.first, b.first) || b.cases.size - a.cases.size);
}

/** familyOf is what cases have in common that stand in one column of a large matrix. */
function familyOf(c) {
  if (c.scenario || report.kind !== "check") return c.scenario || c.name.split("/")[0];
  return c.name.split("/").pop().split(/[~@.]/)[0];
}

const exchangeOf = (c, number) => (c.exchanges || []).find((x) => x.index === number);

/** Each pack is unpacked once, when its first chunk is asked for. */
const unpacked = new Map();

function unpack(number) {
  if (!unpacked.has(number)) unpacked.set(number, inflate(report.packs[number].data).arrayBuffer().then((b) => new Uint8Array(b)));
  return unpacked.get(number);
}

/** bytesOf returns the bytes of a body, null where the page does not hold them. */
async function bytesOf(body) {
  if (!body || (body.n > 0 && !body.c)) return null;
  const bytes = new Uint8Array(body.n);
  let at = 0;
  for (const [first, count] of body.c || []) {
    for (let i = first; i < first + count; i++) {
      const [pack, from, size] = index.chunks[i];
      bytes.set((await unpack(pack)).subarray(from, from + size), at);
      at += size;
    }
  }
  return bytes;
}

const decodeText = (bytes) => new TextDecoder().decode(bytes);

buildIndex();
