// The lists of findings and of cases, and the page of a requirement.

function showFindings(main, route) {
  main.classList.add("fill");
  const found = filterFindings(route.params);
  const list = virtualList({
    count: found.length, height: innerWidth < 520 ? 84 : 62, label: "Findings",
    row: (i) => findingRow(found[i]),
    open: (i) => { location.hash = findingLink(found[i]); },
  });
  const shown = found.length === index.findings.length ? count(found.length, "finding") : `${found.length.toLocaleString("en")} of ${count(index.findings.length, "finding")}`;
  const hidden = filterFindings({ ...route.params, verdict: route.params.verdict || "all" }).length - found.length;
  const end = [shown, hidden > 0 && [", ", h("a", { href: link(["findings"], { ...route.params, verdict: "all" }) }, count(hidden, "follow-up"))]];
  main.append(h("div.page", null, filterBar(route, ["area", "provider", "ingress", "case"], index.counts, end),
    found.length ? list.el : emptyNote(index.findings.length ? "No finding matches these filters." : "No finding. Every rule that could be observed was kept.")));
  list.draw();
  return { keys: found.length ? listKeys(list) : {}, focus: list.el, list };
}

const findingRow = (f) => [verdictChip(f.verdict), h("div.grow", null,
  h("div.clip.two", null, h("span.title", null, sentenceOf(f)[0])),
  h("div.line.clip", null, h("code", null, f.check), " · ", f.case.name, " · ", placeText(f.finding), " ", f.finding.path))];

function showCases(main, route) {
  main.classList.add("fill");
  const counts = {};
  for (const c of report.cases) counts[c.verdict] = (counts[c.verdict] || 0) + 1;
  const verdicts = verdictsOf(route.params);
  const cases = report.cases.filter((c) => (!verdicts.size || verdicts.has(c.verdict)) && isOfFilter(c, route.params) &&
    (!route.params.q || hasWords(route.params.q, [c.name, c.reason, c.source, c.ingress, ...(c.deviations || [])].join(" "))));
  const findings = new Map();
  for (const f of index.findings) findings.set(f.case, (findings.get(f.case) || 0) + 1);
  const list = virtualList({
    count: cases.length, height: 54, label: "Cases",
    row: (i) => caseRow(cases[i], findings.get(cases[i]) || 0),
    open: (i) => { location.hash = caseLink(cases[i]); },
  });
  main.append(h("div.page", null, filterBar(route, ["provider", "ingress"], counts, count(cases.length, "case")), cases.length ? list.el : emptyNote("No case matches these filters.")));
  list.draw();
  return { keys: cases.length ? listKeys(list) : {}, focus: list.el, list };
}

const caseRow = (c, findings) => [verdictChip(c.verdict), h("div.grow", null, h("div.title.clip", null, c.name), h("div.line.clip", null, reasonOf(c) || [c.provider, c.source, c.ingress].filter(Boolean).join(" · "))),
  h("span.muted.num.nowrap.hide-narrow", null, count((c.exchanges || []).length, "exchange")), h("span.muted.num.nowrap.hide-narrow", { style: { width: "90px", textAlign: "right" } }, findings ? count(findings, "finding") : "–"),
  h("span.muted.num.nowrap.hide-narrow", { style: { width: "70px", textAlign: "right" } }, c.took_ms ? timeText(c.took_ms) : "")];

function showRequirement(main, route) {
  const r = index.requirements.get(route.path[1]);
  if (!r) return showMissing(main);
  const rows = report.cases.map((c) => [c, index.cells.get(r.id + "\n" + c.name)]).filter(([, cell]) => cell).sort((a, b) => rank(a[1].verdict) - rank(b[1].verdict));
  main.append(h("div.page", null,
    h("div", null, crumbs(["Matrix", "#/matrix"], [r.area, link(["matrix"], { area: r.area })]), h("h1", null, `${r.id} ${r.title}`), h("p.lead", null, r.text)),
    h("div.columns", null, card(count(rows.length, "case"), rows.length ? h("table.plain", null, h("tbody", null, rows.map(([c, cell]) => h("tr", null, h("td", null, verdictChip(cell.verdict)), h("td", null, h("a", { href: caseLink(c) }, c.name)),
      h("td.r.muted", null, `${cell.observed.toLocaleString("en")} observed`))))) : emptyNote("No case of this report shows it.")),
    h("div.stack", null, requirementCard(r)))));
  return { up: "#/matrix" };
}

function requirementCard(r) {
  return card("The rule", h("div.stack", null,
    facts([["A breach is", r.consequence], ["Why", r.why], ["Fix", r.fix]]),
    (r.sources || []).length > 0 && h("div", null, h("h2", null, "Sources"), h("div.stack", null, r.sources.map((s) => h("div", null, outsideLink(s.url, s.label), s.section && h("div.muted", null, s.section)))))));
}

function showMissing(main) {
  main.append(emptyNote("This address leads to nothing in this report. "), h("p.empty", null, h("a", { href: "#/" }, "Back to the overview")));
  return { up: "#/" };
}
