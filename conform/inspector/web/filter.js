// Filters: they live in the address, so that a filtered view can be sent to others.

/** filterBar makes the controls. which lists those that the view knows. */
function filterBar(route, which, counts, endText) {
  const { params } = route;
  const set = (changes) => go(route.path, { ...params, ...changes }, true);
  const chosen = verdictsOf(params);
  const chips = ORDER.filter((v) => counts[v] || chosen.has(v)).map((v) => h("button.chip", {
    type: "button", "aria-pressed": String(chosen.has(v)), "data-verdict": v,
    onclick: () => {
      if (!chosen.delete(v)) chosen.add(v);
      set({ verdict: [...chosen].join(",") || "all" });
    },
  }, `${SIGNS[v]} ${v.replaceAll("-", " ")}`, h("b", null, (counts[v] || 0).toLocaleString("en"))));
  const pick = (name, label, values, text = (v) => v) => which.includes(name) && values.length > 1 && h("select", {
    "aria-label": label, name, onchange: (e) => set({ [name]: e.target.value }),
  }, h("option", { value: "" }, label), values.map((v) => h("option", { value: v, selected: params[name] === v }, text(v))));
  const isFiltered = ["verdict", "area", "provider", "ingress", "case", "family", "q"].some((name) => params[name] && params[name] !== "all");
  return h("div.filters", null, chips,
    pick("area", "All areas", [...new Set(report.requirements.map((r) => r.area))], (area) => `${area} ${(report.areas || {})[area] || ""}`),
    pick("provider", "All providers", [...index.providers].sort()),
    pick("ingress", "All ways in", [...index.ingress].sort()),
    pick("case", "All cases", [...index.cases.keys()]),
    params.family && h("span.tag", null, `family ${params.family}`),
    isFiltered && h("button.chip", { type: "button", onclick: () => go(route.path, { verdict: "all" }, true) }, "show all"),
    h("span.end.num", null, endText));
}

/** verdictsOf are the verdicts that the address chooses; none and "all" choose everything. */
const verdictsOf = (params) => new Set((params.verdict || "").split(",").filter((v) => v && v !== "all"));

/** isOfFilter reports whether the filter keeps a case by its provider and its way in. */
const isOfFilter = (c, params) => (!params.provider || (c.provider || "").split(",").includes(params.provider)) && (!params.ingress || c.ingress === params.ingress) && (!params.family || familyOf(c) === params.family);

/** hasWords reports whether all words of the search stand in text. */
function hasWords(search, text) {
  const low = text.toLowerCase();
  return (search || "").toLowerCase().split(/\s+/).every((word) => low.includes(word));
}

function filterFindings(params) {
  const verdicts = verdictsOf(params);
  return index.findings.filter((f) =>
    (!verdicts.size || verdicts.has(f.verdict)) && (!params.area || areaOf(f.check) === params.area) &&
    isOfFilter(f.case, params) && (!params.case || f.case.name === params.case) &&
    (!f.finding.cause || params.q || params.case || params.verdict === "all") && (!params.q || hasWords(params.q, findingText(f))));
}

const titleOf = (check) => (index.requirements.get(requirementOf(check)) || {}).title || check;

function findingText(f) {
  f.text = f.text || [f.check, f.case.name, titleOf(f.check), f.finding.message, f.finding.path, f.finding.rule, f.finding.consequence].join(" ");
  return f.text;
}
