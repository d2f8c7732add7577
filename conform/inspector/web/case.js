// One case: what was found, its exchanges in lanes, what came back of each block.

function showCase(main, route) {
  const c = index.cases.get(route.path[1]);
  if (!c) return showMissing(main);
  if (route.path[2] === "exchange") return showExchange(main, route, c, exchangeOf(c, Number(route.path[3])));
  if (route.path[2] === "trip") return showTrip(main, c, Number(route.path[3]), Number(route.path[4]));
  main.append(h("div.page", null,
    h("div.hero", null, h("div", null, crumbs(["Cases", "#/cases"]), h("h1", null, c.name),
      h("p.lead", null, [c.provider, c.source && `answered by ${c.source}`, c.ingress && `through ${c.ingress}`, c.took_ms && timeText(c.took_ms)].filter(Boolean).join(" · "))), verdictChip(c.verdict, "big")),
    caseNotices(c), caseFindings(c), lanesCard(c), blocksCard(c), resultsCard(c, route.params.q), processesCard(c), skippedCard(c)));
  return { up: "#/cases" };
}

function caseNotices(c) {
  const list = [c.reason && h("p.notice.bad", null, c.reason), ...(c.deviations || []).map((d) => h("p.notice.bad", null, "Not as scripted: ", d)),
    (c.hosts || []).length > 0 && h("p.notice", null, "Other hosts asked for: ", c.hosts.join(", "))].filter(Boolean);
  return list.length ? h("div.stack", null, list) : null;
}

function caseFindings(c) {
  const found = index.findings.filter((f) => f.case === c && !f.finding.cause);
  if (!found.length) return null;
  return card(count(found.length, "finding"), h("div.tops", null, found.slice(0, 50).map((f) => h("a", { href: findingLink(f) }, h("span", null, verdictChip(f.verdict)),
    h("div.grow", null, h("div.title", null, sentenceOf(f)[0]), h("div.muted.clip", null, f.check, " · ", placeText(f.finding), " ", f.finding.path))))),
    found.length > 50 && h("a", { href: link(["findings"], { case: c.name }) }, `All ${found.length} findings`));
}

/** breachesOf maps the exchanges of a case in which a breach was seen first to its verdict, the worst for each. */
function breachesOf(c) {
  const worst = new Map();
  for (const f of index.findings) if (f.case === c && !f.finding.cause && f.finding.exchange !== undefined && !worst.has(f.finding.exchange)) worst.set(f.finding.exchange, f.verdict);
  return worst;
}

/** breachSign marks an exchange in which a breach was seen first. */
const breachSign = (verdict) => verdict && h("span.sign.v-" + verdict, { title: `${verdict}: a finding is about this exchange`, "aria-label": verdict }, SIGNS[verdict]);

const LANE = 62, STOP = 148, STEP = 164, NAME = 150;

/** lanesOf sorts the exchanges into lanes: one for each process and conversation. */
function lanesOf(c) {
  const lanes = new Map();
  for (const x of c.exchanges || []) {
    const isSide = x.conversation < 0;
    const key = `${x.process}/${isSide ? "side" : x.conversation}`;
    if (!lanes.has(key)) lanes.set(key, { process: x.process, conversation: x.conversation, isSide, kind: x.kind, exchanges: [] });
    lanes.get(key).exchanges.push(x);
  }
  return [...lanes.values()].sort((a, b) => a.process - b.process || a.isSide - b.isSide || a.conversation - b.conversation);
}

function laneName(c, lane) {
  const process = (c.processes || [])[lane.process];
  const title = lane.isSide ? "side traffic" : lane.kind === "sub-agent" ? "sub-agent" : lane.kind === "compacted" ? "compacted" : lane.conversation === 0 ? "main" : `conversation ${lane.conversation + 1}`;
  const of = lane.process < 0 ? "process unknown" : `process ${lane.process + 1}` + (process && process.resumed ? ", resumed" : "");
  return [h("b", null, title), h("small.muted", null, of)];
}

function lanesCard(c) {
  const exchanges = c.exchanges || [];
  if (!exchanges.length) return card("Exchanges", emptyNote("No exchange with a provider was seen."));
  const lanes = lanesOf(c), order = new Map(exchanges.map((x, i) => [x.index, i])), laneOf = new Map();
  lanes.forEach((lane, i) => lane.exchanges.forEach((x) => laneOf.set(x.index, i)));
  const left = (x) => NAME + 14 + order.get(x.index) * STEP, top = (x) => laneOf.get(x.index) * LANE + 6;
  const width = NAME + 14 + exchanges.length * STEP, height = lanes.length * LANE;
  const wires = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  wires.setAttribute("width", width);
  wires.setAttribute("height", height);
  wires.setAttribute("aria-hidden", "true");
  for (const x of exchanges) {
    const from = exchangeOf(c, x.previous);
    if (!from) continue;
    const [x1, y1, x2, y2] = [left(from) + STOP, top(from) + 25, left(x), top(x) + 25];
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", y1 === y2 ? `M${x1} ${y1}H${x2}` : `M${x1} ${y1}C${x1 + 30} ${y1} ${x2 - 30} ${y2} ${x2} ${y2}`);
    wires.append(path);
  }
  const names = lanes.map((lane) => h("div.lane-name", { style: { height: `${LANE}px`, width: `${NAME}px` } }, laneName(c, lane)));
  const breaches = breachesOf(c), first = exchanges.find((x) => breaches.has(x.index));
  const board = h("div", { style: { position: "relative", width: `${width}px`, height: `${height}px` } }, wires, exchanges.map((x) => stopOf(c, x, left(x), top(x), breaches.get(x.index))), names);
  const el = h("div.lanes", { tabindex: "0", role: "group", "aria-label": "Exchanges by process and conversation" }, board);
  if (first) requestAnimationFrame(() => { el.scrollLeft = left(first) + STEP - el.clientWidth; }); // what stands at the start stays where it is
  return card(`${count(exchanges.length, "exchange")} in ${count(lanes.length, "lane")}`, el, exchangeTable(c, breaches));
}

const stateOf = (x) => (x.outcome === "complete" ? "ok" : x.status >= 400 || x.status === 0 || x.outcome === "failed" ? "bad" : "odd");

function stopOf(c, x, left, top, breach) {
  const first = x.first_byte_ms >= 0 ? timeText(x.first_byte_ms) : "";
  const end = [x.status || "no reply", x.outcome === "complete" ? x.end : x.outcome, first, (x.stalls || []).length && count(x.stalls.length, "stall")].filter(Boolean).join(" · ");
  return h(`a.stop.${stateOf(x)}`, { href: exchangeLink(c, x.index), style: { left: `${left}px`, top: `${top}px`, width: `${STOP}px`, height: "50px" }, title: `${x.method} ${x.url}` },
    h("b", null, `#${x.index} `, breachSign(breach), h("span.muted", null, x.kind === "main" ? "" : x.kind)), h("small.clip", null, end));
}

function exchangeTable(c, breaches) {
  const slowest = Math.max(1, ...c.exchanges.map((x) => x.last_byte_ms));
  const at = (ms) => `${Math.max(0, Math.min(100, (ms / slowest) * 100))}%`;
  const times = (x) => x.last_byte_ms >= 0 && h("div.times", { title: `first byte after ${timeText(x.first_byte_ms)}, last after ${timeText(x.last_byte_ms)}`, style: { minWidth: "120px" } },
    h("span.t-wait", { style: { left: "0", width: at(x.first_byte_ms) } }), h("span.t-stream", { style: { left: at(x.first_byte_ms), width: `calc(${at(x.last_byte_ms)} - ${at(x.first_byte_ms)})`, minWidth: "2px" } }),
    (x.stalls || []).map((s) => h("span.t-stall", { style: { left: at(s.at_ms), width: at(s.for_ms) } })));
  return h("div.scroll-x", { style: { marginTop: "14px" } }, h("table.plain", null,
    h("thead", null, h("tr", null, ["", "Model", "Status", "Ending", "First byte", "Stalls", "Response over time"].map((t) => h("th", null, t)), ["Request", "Response", "Cache read"].map((t) => h("th.r", null, t)))),
    h("tbody", null, c.exchanges.map((x) => h("tr", null,
      h("td.nowrap", null, h("a", { href: exchangeLink(c, x.index) }, `#${x.index}`), " ", breachSign(breaches.get(x.index))), h("td.nowrap", null, x.model || "–"), h("td", null, x.status || "none"),
      h("td.nowrap", null, endingOf(x)), h("td.num.nowrap", null, x.first_byte_ms >= 0 ? timeText(x.first_byte_ms) : "–"),
      h("td.nowrap", null, (x.stalls || []).length ? x.stalls.map((s) => timeText(s.for_ms)).join(", ") : "–"), h("td", null, times(x) || "–"),
      h("td.r.nowrap", null, x.request ? bytesText(x.request.n) : "–"), h("td.r.nowrap", null, x.response ? bytesText(x.response.n) : "–"),
      h("td.r", null, x.usage && x.usage.cache_read >= 0 ? x.usage.cache_read.toLocaleString("en") : "–"))))));
}

const ENDINGS = { eof: "end of stream", reset: "connection reset", client_abort: "the agent hung up" };
const endingOf = (x) => [x.outcome, x.end && (ENDINGS[x.end] || x.end)].filter(Boolean).join(", ");

const RETURN_SIGNS = { same: "=", respelled: "≈", changed: "≠", missing: "–" };
const RETURN_WORDS = { same: "came back unchanged", respelled: "came back with the same value in other bytes", changed: "came back changed", missing: "was not sent back" };

function blocksCard(c) {
  const blocks = c.blocks || [];
  if (!blocks.length) return null;
  const rows = blocks.map((b, i) => h("tr", null,
    h("td", null, h("a", { href: exchangeLink(c, b.exchange, { side: "response", at: b.offset }) }, `#${b.exchange}`)), h("td.nowrap", null, b.what, b.name && h("span.muted", null, ` ${b.name}`)),
    h("td.muted.nowrap", null, b.fields.map((f) => `${f.name} ${bytesText(f.value.n)}`).join(", ")),
    h("td", null, h("div.dots", null, b.returns.map((r) => h(`a.dot.${r.state}`, { href: caseLink(c, "trip", String(i), String(r.exchange)), title: `request #${r.exchange}: ${RETURN_WORDS[r.state]}`, "aria-label": `request ${r.exchange}: ${RETURN_WORDS[r.state]}` }, `${RETURN_SIGNS[r.state]}${r.exchange}`))))));
  return card("Round trips: what the provider emitted, and what later requests sent back", h("div.scroll-x", null, h("table.plain", null,
    h("thead", null, h("tr", null, ["Emitted in", "Block", "Size", "Sent back in request"].map((t) => h("th", null, t)))), h("tbody", null, rows))),
    h("p.legend", { style: { marginTop: "12px" } }, Object.keys(RETURN_SIGNS).map((s) => h("span", null, h(`span.dot.${s}`, null, RETURN_SIGNS[s]), " ", RETURN_WORDS[s]))));
}

function resultsCard(c, search) {
  const results = (c.results || []).filter((r) => !search || hasWords(search, `${r.check} ${titleOf(r.check)}`)).sort((a, b) => rank(a.verdict) - rank(b.verdict) || (a.check < b.check ? -1 : 1));
  if (!results.length) return null;
  return card(null, h("details", { open: Boolean(search) }, h("summary", null, count(results.length, "check") + (search ? ` of ${search}` : "")), h("table.plain", null, h("tbody", null, results.map((r) => h("tr", null,
    h("td", null, verdictChip(r.verdict)), h("td.nowrap", null, h("a", { href: link(["requirement", requirementOf(r.check)]) }, h("code", null, r.check))), h("td", null, titleOf(r.check), r.reason && h("div.muted", null, r.reason)),
    h("td.r.muted.nowrap", null, `${(r.observed || 0).toLocaleString("en")} observed`)))))));
}

function processesCard(c) {
  const processes = c.processes || [];
  if (!processes.some((p) => p.args || p.stdout || p.stderr || p.exit >= 0)) return null;
  return card("Processes", h("div.stack", null, processes.map((p, i) => {
    const output = h("div.stack");
    for (const [name, body] of [["stdout", p.stdout], ["stderr", p.stderr]]) {
      if (body) output.append(h("details", null, h("summary", null, `${name}, ${bytesText(body.n)}`), bodyText(body)));
    }
    return h("div", null, h("div", null, h("b", null, `Process ${i + 1}`), h("span.muted", null, [p.resumed && " resumed the session", p.exit >= 0 && ` exited ${p.exit}`].filter(Boolean).join(", "))),
      p.args && h("div.bytes", null, p.args.join(" ")), output);
  })));
}

/** bodyText shows a short body as text, once it is unpacked. */
function bodyText(body) {
  const el = h("div.bytes", null, "…");
  bytesOf(body).then((bytes) => { el.textContent = bytes ? decodeText(bytes.subarray(0, 200000)) : `${body.n} bytes, hash ${body.h}`; });
  return el;
}

function skippedCard(c) {
  return (c.skipped || []).length ? card(null, h("details", null, h("summary", null, `${count(c.skipped.length, "exchange")} not judged`), h("ul", null, c.skipped.map((s) => h("li", null, s))))) : null;
}
