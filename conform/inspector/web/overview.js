// The first page: the verdict, what it is about, and where to look.

const subjectName = () => {
  const s = report.subject || {};
  if (s.name) return [s.name, s.version].filter(Boolean).join(" ");
  return report.kind === "check" ? "Recorded traffic" : "Report";
};

function summaryVerdict() {
  if (report.summary) return report.summary.verdict;
  const seen = report.cases.map((c) => c.verdict);
  return seen.length ? seen.reduce((a, b) => (rank(b) < rank(a) ? b : a)) : "not-testable";
}

function showOverview(main) {
  main.append(h("div.page", null, overviewHead(), tiles(), notices(), h("div.columns", null, topFindings(), areaBars()), caseTable()));
  return {};
}

function overviewHead() {
  const sources = [(report.sources || []).length && `answered by ${report.sources.join(", ")}`, (report.ingress || []).length && `reached through ${report.ingress.join(", ")}`,
    report.subject && report.subject.kind && `driven as ${report.subject.kind}`, report.started && new Date(report.started).toISOString().replace("T", " ").slice(0, 16) + " UTC",
    report.took_ms && timeText(report.took_ms), report.tool && report.tool.name && `${report.tool.name} ${report.tool.version || ""}`];
  return h("div.hero", null,
    h("div", null, h("h1", null, subjectName()), h("p.lead", null, sources.filter(Boolean).join(" · "))),
    report.live && !report.summary ? h("span.live", { role: "status" }, `running, ${report.cases.length}${report.expected ? " of " + report.expected : ""} cases`) : verdictChip(summaryVerdict(), "big"));
}

function tiles() {
  const coverage = report.summary && report.summary.coverage;
  const requests = report.cases.reduce((n, c) => n + (c.exchanges || []).length, 0);
  const tile = (number, label, href) => h(href ? "a.tile" : "div.tile", { href }, h("b", null, typeof number === "number" ? number.toLocaleString("en") : number), h("span", null, label));
  return h("div.tiles", null,
    tile(index.findings.length, "findings", "#/findings"),
    tile(report.cases.length, report.kind === "check" ? "recordings" : "cases", "#/cases"),
    coverage && tile(`${coverage.seen} of ${coverage.total}`, "requirements seen", "#/matrix"),
    report.calls && tile(`${report.calls.accepted} of ${report.calls.made}`, "calls accepted"),
    tile(requests, "exchanges"));
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

function topFindings() {
  const shown = index.findings.slice(0, 8);
  const rest = index.findings.length - shown.length;
  return card("Findings", shown.length ? h("div.tops", null, shown.map((f) => h("a", { href: findingLink(f) },
    h("span", null, verdictChip(f.verdict)), h("div.grow", null, h("div.title", null, titleOf(f.check)), h("div.muted", null, `${f.check} · ${f.case.name}`))))) :
    emptyNote(report.cases.length ? "No finding. Every rule that could be observed was kept." : "Nothing was judged yet."),
    rest > 0 && h("p", null, h("a", { href: "#/findings" }, `All ${index.findings.length.toLocaleString("en")} findings`)));
}

const AREAS = { ORD: "ordering", SIG: "signatures", MOD: "models", RES: "resumption", STR: "streams", ERR: "errors", PAR: "parameters", CAS: "cassettes", HYG: "hygiene" };

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
    return h("a.area", { href: link(["matrix"], { area }), title: words }, h("span", null, h("code", null, area), h("span.muted.hide-narrow", null, " ", AREAS[area] || "")),
      h("span.bar", { role: "img", "aria-label": words }, verdicts.toReversed().map((v) => h("span.v-" + v, { style: { flexGrow: row[v] } }))),
      h("span.muted.num", null, words));
  });
  return card("Requirements by area", rows.length ? rows : emptyNote("No requirement was judged."));
}

function caseTable() {
  const worst = report.cases.filter((c) => !["pass", "not-applicable"].includes(c.verdict)).sort((a, b) => rank(a.verdict) - rank(b.verdict)).slice(0, 12);
  if (!worst.length) return null;
  return card("Cases to look at", h("div.scroll-x", null, h("table.plain", null,
    h("thead", null, h("tr", null, ["Verdict", "Case", "Why"].map((t) => h("th", null, t)))),
    h("tbody", null, worst.map((c) => h("tr", null, h("td", null, verdictChip(c.verdict)), h("td.nowrap", null, h("a", { href: caseLink(c) }, c.name)), h("td.muted", null, reasonOf(c))))))));
}

/** reasonOf is one line that says why a case has its verdict. */
function reasonOf(c) {
  if (c.reason) return c.reason;
  const found = index.findings.filter((f) => f.case === c);
  if (found.length) return count(found.length, "finding") + ": " + found.slice(0, 3).map((f) => f.check).join(", ");
  if ((c.deviations || []).length) return c.deviations[0];
  const worst = (c.results || []).find((r) => r.verdict === c.verdict && r.reason);
  return worst ? worst.reason : "";
}
