// One exchange: its facts, the prefix ruler, the counters, the octets.

function showExchange(main, route, c, x) {
  if (!x) return showMissing(main);
  const numbers = c.exchanges.map((e) => e.index), at = numbers.indexOf(x.index);
  const side = route.params.side === "response" ? "response" : "request";
  const tab = (name, label) => h("button.chip", { type: "button", "aria-pressed": String(side === name), onclick: () => go(route.path, { ...route.params, side: name, at: "" }, true) }, label);
  const view = octetsView(x[side], { offset: route.params.at === undefined || route.params.at === "" ? -1 : Number(route.params.at), mode: route.params.mode, setMode: (mode) => go(route.path, { ...route.params, mode }, true) });
  main.append(h("div.page", null,
    h("div.hero", null, h("div", null, crumbs(["Cases", "#/cases"], [c.name, caseLink(c)]), h("h1", null, `Exchange ${x.index}`), h("p.lead.mono", null, `${x.method} ${x.url}`)),
      h("div.row", null, at > 0 && h("a.icon", { href: exchangeLink(c, numbers[at - 1]) }, "← previous"), at < numbers.length - 1 && h("a.icon", { href: exchangeLink(c, numbers[at + 1]) }, "next →"))),
    h("div.columns", null, exchangeFacts(c, x), prefixCard(c, x)), exchangeFindings(c, x),
    h("section.card", null, h("div.row", { style: { marginBottom: "12px" } }, tab("request", `Request, ${x.request ? bytesText(x.request.n) : "not kept"}`), tab("response", `Response, ${x.response ? bytesText(x.response.n) : "not kept"}`), h("span.grow"), view.controls),
      headersOf(side === "request" ? x.request_headers : x.response_headers), view.el)));
  return { up: caseLink(c), keys: {
    p: () => at > 0 && (location.hash = exchangeLink(c, numbers[at - 1])), n: () => at < numbers.length - 1 && (location.hash = exchangeLink(c, numbers[at + 1])), ...view.keys,
  } };
}

function exchangeFacts(c, x) {
  const process = (c.processes || [])[x.process];
  return card(null, facts([
    ["Status", x.status ? String(x.status) : "no response"], ["Reply", endingOf(x)], ["Provider's words", x.error], ["Model", x.model],
    ["Part", x.kind + (x.previous >= 0 ? `, continues #${x.previous}` : "")], ["Process", x.process >= 0 ? `${x.process + 1}${process && process.resumed ? ", resumed" : ""}` : ""],
    ["First byte", x.first_byte_ms >= 0 ? `${timeText(x.first_byte_ms)} after the headers` : "not recorded"], ["Last byte", x.last_byte_ms >= 0 ? `${timeText(x.last_byte_ms)}, in ${count(x.pieces, "piece")}` : ""],
    ["Stalls", (x.stalls || []).map((s) => `${timeText(s.for_ms)} after ${timeText(s.at_ms)}`).join("; ") || (x.last_byte_ms >= 0 ? "none" : "")],
    ["Answered by", x.missed ? "the proxy: the cassette has no answer" : x.provenance],
  ]));
}

function exchangeFindings(c, x) {
  const found = index.findings.filter((f) => f.case === c && f.finding.exchange === x.index && !f.finding.cause);
  if (!found.length) return null;
  return card(`${count(found.length, "finding")} here`, h("div.tops", null, found.slice(0, 20).map((f) => h("a", { href: findingLink(f) }, h("span", null, verdictChip(f.verdict)), h("div.grow", null, h("div.title", null, sentenceOf(f)[0]), h("div.muted.clip", null, f.finding.path || f.check))))));
}

const PART_WORDS = { same: "as before", changed: "differs: the prefix breaks here", moved: "behind the break", new: "new" };

function prefixCard(c, x) {
  const u = x.usage, p = x.prefix;
  const n = (v) => (v >= 0 ? v.toLocaleString("en") : "not said");
  const counters = u && facts([["Input tokens", n(u.input)], ["read from the cache", u.cache_read >= 0 ? `${n(u.cache_read)}${u.input > 0 ? ` (${Math.round((u.cache_read / u.input) * 100)} %)` : ""}` : "not said"],
    ["written to the cache", u.cache_write >= 0 ? n(u.cache_write) : ""], ["Output tokens", n(u.output)], ["thereof reasoning", u.reasoning >= 0 ? n(u.reasoning) : ""]]);
  if (!p) return card("Prefix and cache", h("p.muted", { style: { marginBottom: "12px" } }, x.previous >= 0 ? "The request cannot be compared with the one before." : "The first request of its conversation: there is nothing to compare it with."), counters || h("p.muted", null, "The provider counted no tokens."));
  const total = Math.max(1, p.parts.reduce((sum, part) => sum + part.bytes, 0));
  const same = p.parts.filter((part) => part.state === "same").reduce((sum, part) => sum + part.bytes, 0);
  const used = [...new Set(p.parts.map((part) => part.state))];
  return card("Prefix and cache", h("div.stack", null,
    h("p", null, p.broke ? ["The prefix ", h("b", null, "breaks"), " at ", h("code", null, p.broke), "."] : "The request only grew: everything the one before held is still there.", " ",
      h("span.muted", null, `${Math.round((same / total) * 100)} % is as in `, h("a", { href: exchangeLink(c, p.previous) }, `#${p.previous}`), `; the first ${bytesText(p.common)} of ${bytesText(p.is)} are equal byte for byte.`)),
    h("div.ruler", { role: "img", "aria-label": p.parts.map((part) => `${part.name}: ${PART_WORDS[part.state]}, ${bytesText(part.bytes)}`).join("; ") },
      p.parts.map((part) => h(`span.p-${part.state}`, { style: { flexGrow: part.bytes }, title: `${part.name}: ${PART_WORDS[part.state]}, ${bytesText(part.bytes)}` }))),
    h("div.legend", null, used.map((s) => h("span", null, h(`span.swatch.p-${s}`), PART_WORDS[s]))),
    h("details", null, h("summary", null, count(p.parts.length, "part")), h("table.plain", null, h("tbody", null, p.parts.map((part) => h("tr", null, h("td.mono", null, part.name), h("td", null, PART_WORDS[part.state]), h("td.r", null, bytesText(part.bytes))))))),
    counters));
}

function headersOf(headers) {
  if (!(headers || []).length) return null;
  return h("details", { style: { marginBottom: "10px" } }, h("summary", null, count(headers.length, "header")), h("table.plain.mono", null, h("tbody", null, headers.map((x) => h("tr", null, h("td.muted.nowrap", null, x.name), h("td", { style: { overflowWrap: "anywhere" } }, x.value))))));
}
