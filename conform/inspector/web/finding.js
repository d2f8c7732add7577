// One finding: what is wrong, at which byte, by which rule, and where that was learnt.

function showFinding(main, route) {
  const f = index.findings.find((x) => x.case.name === route.path[1] && x.check === route.path[2] && x.number === Number(route.path[3]));
  if (!f) return showMissing(main);
  const at = index.findings.indexOf(f), next = index.findings[at + 1], previous = index.findings[at - 1];
  const [sentence, rest] = sentenceOf(f);
  const r = index.requirements.get(requirementOf(f.check)) || { id: requirementOf(f.check), title: "" };
  main.append(h("div.page", null,
    h("div.hero", null, h("div", null, crumbs(["Findings", "#/findings"], [f.case.name, caseLink(f.case)]), h("h1", null, sentence), h("p.lead", null, h("code", null, f.check), " · ", titleOf(f.check), " · ", outcomeOf(f, r))),
      h("div.row", null, previous && h("a.icon", { href: findingLink(previous) }, "← previous"), next && h("a.icon", { href: findingLink(next) }, "next →"), verdictChip(f.verdict, "big"))),
    h("section.card", null, h("div.chain", null,
      step(1, "What is wrong", h("p", null, f.finding.message || sentence), causePart(f), comparison(f.finding.compare), f.verdict === "contradicted" ? h("p.muted", null, "The provider itself accepted this request, so the rule is out of date. It is no fault of the agent.") : h("p.muted", null, h("b", null, "Fix: "), f.finding.fix || r.fix)),
      step(2, "Where", wherePart(f)), step(3, "By which rule", rulePart(f, r)), step(4, "Where that was learnt", threadsPart(r)))),
    tripOfFinding(f)));
  return { up: "#/findings", keys: { n: () => next && (location.hash = findingLink(next)), p: () => previous && (location.hash = findingLink(previous)) } };
}

const step = (n, title, ...children) => h("div.step", null, h("b", { "aria-hidden": "true" }, n), h("div.stack", null, h("h3", null, title), children));

function comparison(compare) {
  if (!compare) return null;
  if (!compare.expected && !compare.actual) return h("p.muted", null, `${compare.expected_bytes} bytes were emitted, ${compare.actual_bytes} came back; the first different byte is ${compare.differs}.`);
  return h("div.bytes.hex", { "aria-label": "expected and actual" }, `expected  ${compare.expected}\nactual    ${compare.actual}\n          ${" ".repeat(compare.mark)}^ byte ${compare.differs}`);
}

function placeText(place) {
  return [place.exchange !== undefined && `exchange ${place.exchange}`, place.event !== undefined && `event ${place.event}`, place.offset !== undefined && `byte ${place.offset}`].filter(Boolean).join(", ");
}

function wherePart(f) {
  const also = (f.finding.places || []).slice(0, 12);
  return h("div.stack", null,
    h("div.row", null, placeLink(f), f.finding.exchange !== undefined && h("span.muted", null, `of the ${sideOf(f)}`), f.finding.path && h("code", null, f.finding.path)),
    f.finding.emitted && h("div", null, "emitted at ", h("a", { href: exchangeLink(f.case, f.finding.emitted.exchange, { side: "response", at: f.finding.emitted.offset }) }, placeText(f.finding.emitted))),
    also.length > 0 && h("details", null, h("summary", null, `also in ${count(f.finding.places.length, "other place")}`), h("ul", null, also.map((p) => h("li", null, p.exchange === undefined ? placeText(p) : h("a", { href: exchangeLink(f.case, p.exchange, { side: sideOf(f), at: p.offset }) }, placeText(p)), " ", p.path && h("code", null, p.path), p.message && h("div.muted", null, p.message))))));
}

function rulePart(f, r) {
  const rules = (f.finding.rule || "").split(/[,\s]+/).filter((id) => (report.rules || {})[id]);
  return h("div.stack", null, h("div", null, h("a", { href: link(["requirement", r.id]) }, `${r.id} ${r.title}`)), r.text && h("p.muted", null, r.text),
    rules.map((id) => h("div", null, h("span.tag", null, id), " ", h("span.muted", null, report.rules[id].section), h("ul", null, report.rules[id].cells.map((cell) => h("li", null, inlineCode(cell)))))),
    f.finding.rule && !rules.length && h("span.tag", null, f.finding.rule));
}

/** inlineCode shows what stands between backquotes as code. */
const inlineCode = (text) => text.split(/(``.+?``(?!`)|`[^`]+`)/).map((part) => (/^`.*`$/.test(part) ? h("code", null, part.replace(/^`+ ?| ?`+$/g, "")) : part));

function threadsPart(r) {
  const sources = r.sources || [];
  if (!sources.length) return h("p.muted", null, "This report names no source.");
  return h("div.stack", null, sources.map((s) => h("div", null, outsideLink(s.url, s.label), s.section && h("div.muted", null, s.section))), r.why && h("p.muted", null, r.why));
}

/** causePart names the finding that this one follows from, or those that follow from it. */
function causePart(f) {
  const id = (x) => `${x.check}#${x.number}`, inCase = index.findings.filter((x) => x.case === f.case);
  const named = (x) => h("li", null, h("a", { href: findingLink(x) }, titleOf(x.check)), " ", h("code", null, x.check));
  const cause = inCase.find((x) => id(x) === f.finding.cause), follows = inCase.filter((x) => x.finding.cause === id(f));
  return [cause && h("div", null, "Follows from", h("ul", null, named(cause))), follows.length > 0 && h("div", null, "So also", h("ul", null, follows.map(named)))];
}

/** blockOfFinding finds the block that a finding is about, with the request that sent it back. */
function blockOfFinding(f) {
  const { emitted, exchange, path } = f.finding;
  let best = null;
  (f.case.blocks || []).forEach((block, number) => {
    if (emitted && block.exchange !== emitted.exchange) return;
    const back = block.returns.find((r) => r.exchange === exchange);
    if (!back) return;
    let score = RETURN_ORDER.indexOf(back.state);
    if (emitted && block.offset <= emitted.offset) score += 4;
    if (path && back.path && path.startsWith(back.path)) score += 8;
    if (emitted === undefined && !(path && back.path && path.startsWith(back.path))) return;
    if (!best || score > best.score) best = { block, number, back, score };
  });
  return best && best.back.state !== "same" ? best : null;
}

const RETURN_ORDER = ["same", "respelled", "missing", "changed"];

function tripOfFinding(f) {
  const found = blockOfFinding(f);
  if (!found) return null;
  return h("div.stack", null, h("h2", null, "The round trip: ", h("a", { href: caseLink(f.case, "trip", String(found.number), String(found.back.exchange)) }, `the ${found.block.what} of exchange ${found.block.exchange}, in request ${found.back.exchange}`)), tripFields(found.block, found.back));
}

// outcomeOf says what a breach leads to; of a refusal, what became of this request.
function outcomeOf(f, r) {
  const consequence = f.finding.consequence || r.consequence;
  if (consequence !== "refused" || f.verdict === "contradicted") return "a breach is " + consequence;
  return "the request " + ({ refused: "was refused", "accepted-in-recording": "would be refused; accepted in this recording" }[f.finding.answer] || "would be refused");
}
