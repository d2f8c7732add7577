// The first page: the verdict, its causes, and what was not shown.

/** productName is the name of the subject, of recorded traffic the product that its user agents name first. */
const productName = () => {
  const s = report.subject || {};
  if (s.name && report.kind === "check") {
    const [first, ...others] = new Set(s.name.split(", ").map((agent) => agent.match(/^[^/\s(]*(\/[^/\s(]+)?/)[0]));
    return first ? first + (others.length ? ` and ${others.length} more` : "") : s.name;
  }
  if (s.name) return [s.name, s.version].filter(Boolean).join(" ");
  return report.kind === "check" ? "Recorded traffic" : "Report";
};

function summaryVerdict() {
  if (report.summary) return report.summary.verdict;
  const seen = report.cases.map((c) => c.verdict);
  return seen.length ? seen.reduce((a, b) => (rank(b) < rank(a) ? b : a)) : "not-testable";
}

/** verdictReason says in one sentence why the report has its verdict: how many causes of which verdict, and the worst. */
function verdictReason() {
  const silent = report.cases.filter((c) => c.verdict === "not-testable"), mine = index.causes.filter((c) => !isOfServer(c));
  const tally = (verdicts) => ORDER.map((v) => [verdicts.filter((x) => x === v).length, v.replaceAll("-", " ")]).filter(([n]) => n).map((pair) => pair.join(" ")).join(", ");
  const all = [...silent, ...mine.map((c) => c.first)].sort((a, b) => rank(a.verdict) - rank(b.verdict)), [worst] = all;
  const why = worst && (worst.finding ? sentenceOf(worst)[0] : `${count(silent.length, noun())} could not be tested, the first because ${worst.reason || "nothing was seen"}`);
  const ofServer = tally(index.causes.filter(isOfServer).map((c) => c.first.verdict));
  return [worst ? `${tally(all.map((x) => x.verdict))}: ${why}` : ofServer && "nothing about the agent", ofServer && `about the server: ${ofServer}`].filter(Boolean).join("; ");
}

function showOverview(main) {
  main.append(h("div.page", null, overviewHead(), notices(), causesPart(), unshownPart(), h("div.columns", null, areaBars(), factsCard())));
  const move = (by) => {
    const all = [...main.querySelectorAll(".cause h3 a")], at = all.indexOf(document.activeElement);
    (all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + by))] || main).focus();
  };
  return { keys: { j: () => move(1), k: () => move(-1) } };
}

function overviewHead() {
  const sources = [report.kind === "check" && (report.subject || {}).name, (report.sources || []).length && `answered by ${report.sources.join(", ")}`, (report.ingress || []).length && `reached through ${report.ingress.join(", ")}`,
    report.subject && report.subject.kind && `driven as ${report.subject.kind}`, report.only && `only ${report.only}`, report.started && new Date(report.started).toISOString().replace("T", " ").slice(0, 16) + " UTC",
    report.took_ms && timeText(report.took_ms), report.tool && report.tool.name && `${report.tool.name} ${report.tool.version || ""}`];
  return h("div.hero", null,
    h("div", null, h("h1", null, productName()), h("p.lead", null, sources.filter(Boolean).join(" · ")), h("p", null, verdictReason())),
    report.live && !report.summary ? h("span.live", { role: "status" }, `running, ${report.cases.length}${report.expected ? " of " + report.expected : ""} cases`) : verdictChip(summaryVerdict(), "big"));
}

function notices() {
  const list = (report.notices || []).map((text) => h("p.notice", null, text));
  const deviating = report.cases.filter((c) => (c.deviations || []).length);
  if (deviating.length) {
    list.push(h("p.notice.bad", null, count(deviating.length, "case"), " did not go as scripted: ", deviating.slice(0, 4).map((c, i) => [i ? ", " : "", h("a", { href: caseLink(c) }, c.name)]), deviating.length > 4 && ", …"));
  }
  const hosts = new Set(report.cases.flatMap((c) => c.hosts || []));
  if (hosts.size) list.push(h("p.notice", null, "Other hosts asked for: ", [...hosts].slice(0, 12).join(", ")));
  if (report.shared) list.push(h("p.notice", null, "This copy is for sharing: it holds lengths and hashes in place of what was said."));
  return list.length ? h("div.stack", null, list) : null;
}

const MOST_CAUSES = 12;

const isOfServer = (cause) => cause.first.finding.side === "source";

/** causesPart shows each cause once: what is wrong, the bytes, the fix, how often and where. */
function causesPart() {
  const causes = index.causes.filter((c) => !isOfServer(c)), ofServer = index.causes.filter(isOfServer);
  if (!index.causes.length) return h("p.card.good", null, report.cases.length ? "No finding. Every rule that could be observed was kept." : "Nothing was judged yet.");
  const more = causes.slice(MOST_CAUSES);
  return h("section.stack.wide", { "aria-label": "Causes" },
    causes.length > 0 && h("h2", null, `${count(causes.length, "cause")}, the worst first`), causes.slice(0, MOST_CAUSES).map(causeCard),
    more.length > 0 && h("details.card", null, h("summary", null, `${count(more.length, "more cause")}`), h("div.stack.wide", null, more.slice(0, 200).map(causeCard))),
    ofServer.length > 0 && [h("h2", null, `${count(ofServer.length, "cause")} about the server, not your agent`), ofServer.slice(0, MOST_CAUSES).map(causeCard)],
    index.findings.length > causes.length && h("p", null, h("a", { href: link(["findings"], { verdict: "all" }) }, `All ${index.findings.length.toLocaleString("en")} findings, one by one`)));
}

function causeCard(cause) {
  const f = cause.first, [sentence, rest] = sentenceOf(f), r = index.requirements.get(requirementOf(f.check)) || { id: requirementOf(f.check) };
  const follows = index.findings.filter((x) => x.case === f.case && x.finding.cause === `${f.check}#${f.number}`);
  const others = [...cause.cases].filter((c) => c !== f.case);
  const fix = f.verdict === "contradicted" ? "None: the provider itself accepted this request, so the rule is out of date." : f.finding.fix || r.fix;
  return h("article.card.cause.of-" + f.verdict, null,
    h("h3", null, verdictChip(f.verdict), h("a", { href: findingLink(f) }, sentence)), rest && h("p.muted", null, rest), comparison(f.finding.compare),
    h("dl.facts", null, fix && [h("dt", null, "Fix"), h("dd", null, fix)],
      h("dt", null, "Where"), h("dd", null, h("a", { href: caseLink(f.case) }, f.case.name), ", ", placeLink(f), " ", f.finding.path && h("code", null, f.finding.path), f.finding.places && h("span.muted", null, `, and ${count(f.finding.places.length, "more place")} there`)),
      others.length > 0 && [h("dt", null, "Also in"), h("dd", null, `${count(others.length, noun())}: `, others.slice(0, 3).map((c, i) => [i ? ", " : "", h("a", { href: caseLink(c) }, c.name)]), others.length > 3 && ", …")],
      follows.length > 0 && [h("dt", null, "So also"), h("dd", null, follows.map((x) => h("div", null, h("a", { href: findingLink(x) }, x.check), h("span.muted", null, " ", sentenceOf(x)[0]))))],
      h("dt", null, "Duty"), h("dd.muted", null, h("a", { href: link(["requirement", r.id]) }, r.id), ` ${r.title || ""} (${outcomeOf(f, r)})`)));
}

/** placeLink leads to the byte that a finding names. */
function placeLink(f) {
  const place = placeText(f.finding) || "the case as a whole";
  return f.finding.exchange !== undefined && exchangeOf(f.case, f.finding.exchange) ? h("a", { href: exchangeLink(f.case, f.finding.exchange, { side: sideOf(f), at: f.finding.offset }) }, place) : place;
}

/** unshownPart says in one line what was not seen, not testable or not run. It opens. */
function unshownPart() {
  const reasons = new Map(), notRun = report.cases.filter((c) => c.verdict === "not-applicable" && c.reason);
  for (const c of report.cases) for (const r of c.results || []) {
    if (r.verdict !== "not-testable") continue;
    const why = r.reason || c.reason || "nothing was seen";
    if (!reasons.has(why)) reasons.set(why, []);
    reasons.get(why).push([c, r.check]);
  }
  for (const c of report.cases) if (c.verdict === "not-testable" && !(c.results || []).some((r) => r.verdict === "not-testable")) reasons.set(c.reason || "nothing was seen", [...(reasons.get(c.reason || "nothing was seen") || []), [c, ""]]);
  const untestable = new Set([...reasons.values()].flat().map(([c]) => c)), coverage = report.summary && report.summary.coverage, unseen = (coverage && coverage.unseen) || [];
  const words = [untestable.size && `${count(untestable.size, noun())} not testable`, notRun.length && `${count(notRun.length, noun())} not run`, unseen.length && `${unseen.length} of ${coverage.total} requirements not seen`].filter(Boolean);
  if (!words.length) return null;
  return h("details.card.unshown", null, h("summary", null, words.join(", ")), h("div.stack", null,
    [...reasons].slice(0, 40).map(([why, list]) => h("p", null, verdictChip("not-testable"), " ", why, " ", h("span.muted", null, list.slice(0, 3).map(([c], i) => [i ? ", " : "", h("a", { href: caseLink(c) }, c.name)]), list.length > 3 && ` and ${list.length - 3} more`))),
    (report.unshown || []).map((text) => h("p.muted", null, text)),
    !(report.unshown || []).length && unseen.length > 0 && h("p.muted", null, "Not seen: ", unseen.map((id, i) => [i ? ", " : "", h("a", { href: link(["requirement", id]), title: titleOf(id) }, id)]))));
}

const noun = () => (report.kind === "check" ? "recording" : "case");

function factsCard() {
  const coverage = report.summary && report.summary.coverage, requests = report.cases.reduce((n, c) => n + (c.exchanges || []).length, 0);
  const counts = {};
  for (const c of report.cases) counts[c.verdict] = (counts[c.verdict] || 0) + 1;
  return card("In numbers", facts([
    [report.kind === "check" ? "Recordings" : "Cases", h("a", { href: "#/cases" }, ORDER.filter((v) => counts[v]).map((v) => `${counts[v].toLocaleString("en")} ${v.replaceAll("-", " ")}`).join(", "))],
    ["Requirements", coverage && `${coverage.seen} of ${coverage.total} seen`], ["Findings", index.findings.length.toLocaleString("en")],
    ["Calls", report.calls && `${report.calls.accepted} of ${report.calls.made} accepted`], ["Exchanges", requests.toLocaleString("en")]]));
}

/** verdictsByArea counts requirements; the report's own counts are the ones to show. */
function verdictsByArea() {
  if (report.summary && report.summary.areas) return report.summary.areas.map((a) => [a.area, a.counts]);
  const areas = new Map();
  for (const r of report.requirements) {
    const seen = report.cases.map((c) => index.cells.get(r.id + "\n" + c.name)).filter(Boolean).map((cell) => cell.verdict);
    if (!seen.length) continue;
    const worst = seen.reduce((a, b) => (rank(b) < rank(a) ? b : a));
    const row = areas.get(r.area) || {};
    row[worst] = (row[worst] || 0) + 1;
    areas.set(r.area, row);
  }
  return [...areas];
}

function areaBars() {
  const rows = verdictsByArea().map(([area, row]) => {
    const verdicts = ORDER.filter((v) => row[v]);
    const words = verdicts.map((v) => `${row[v]} ${v.replaceAll("-", " ")}`).join(", ");
    return h("a.area", { href: link(["matrix"], { area }), title: words }, h("span", null, h("code", null, area), h("span.muted", null, " ", (report.areas || {})[area] || "")),
      h("span.bar", { role: "img", "aria-label": words }, verdicts.map((v) => h("span.v-" + v, { style: { flexGrow: row[v] } }))),
      h("span.muted.num", null, words));
  });
  const used = ORDER.filter((v) => verdictsByArea().some(([, row]) => row[v]));
  return card("Requirements by area", rows.length ? rows : emptyNote("No requirement was judged."), h("p.legend", null, used.map((v) => h("span", null, h(`span.swatch.bar-${v}`), `${SIGNS[v]} ${v.replaceAll("-", " ")}`))));
}

/** reasonOf is one line that says why a case has its verdict. */
function reasonOf(c) {
  if (c.reason) return c.reason;
  const found = index.findings.filter((f) => f.case === c);
  if (found.length) return sentenceOf(found[0])[0] + (found.length > 1 ? ` and ${count(found.length - 1, "more finding")}` : "");
  if ((c.deviations || []).length) return c.deviations[0];
  const worst = (c.results || []).find((r) => r.verdict === c.verdict && r.reason);
  return worst ? worst.reason : "";
}
