// The views by their address, and the bar on top.

const VIEWS = { "": showOverview, matrix: showMatrix, findings: showFindings, cases: showCases, case: showCase, finding: showFinding, requirement: showRequirement };

/** What the open view offers: keys, the address above it, its list. */
let view = {};

function showRoute() {
  const route = currentRoute();
  const main = document.getElementById("main");
  main.replaceChildren();
  main.className = "";
  main.scrollTop = 0;
  showBar(route);
  const show = VIEWS[route.path[0] || ""] || showMissing;
  view = show(main, route) || {};
  main.dataset.route = location.hash; // what is shown, which follows the address
  const typed = document.activeElement && document.activeElement.classList.contains("search");
  if (view.focus && !typed) view.focus.focus({ preventScroll: true });
}

function showBar(route) {
  const top = document.getElementById("top"), old = top.querySelector(".search");
  const counts = { matrix: report.requirements.length, findings: index.findings.length, cases: report.cases.length };
  const current = { finding: "findings", case: "cases", requirement: "matrix" }[route.path[0]] ?? (route.path[0] || "");
  const tabs = h("nav.tabs", { "aria-label": "Views" }, TABS.map(([name, path]) => h("a", { href: "#/" + path, "aria-current": current === path ? "page" : null }, name, counts[path] !== undefined && h("span.count", null, counts[path].toLocaleString("en")))));
  if (old) {
    top.querySelector(".tabs").replaceWith(tabs);
    if (document.activeElement !== old) old.value = route.params.q || "";
    return;
  }
  const search = h("input.search", { type: "search", placeholder: "Search  /", "aria-label": "Search", value: route.params.q || "" });
  search.addEventListener("input", () => {
    const now = currentRoute();
    const searchable = ["matrix", "findings", "cases"].includes(now.path[0]);
    if (searchable) go(now.path, { ...now.params, q: search.value }, true);
    else go(["findings"], { q: search.value });
  });
  search.addEventListener("keydown", (e) => {
    if (e.key !== "Enter" && e.key !== "ArrowDown") return;
    e.preventDefault();
    if (view.focus) view.focus.focus();
    if (view.list) view.list.select(0);
  });
  top.append(h("a.brand", { href: "#/" }, verdictMark(), h("span.clip", null, productName(), h("span.sub", null, report.kind === "check" ? "" : " conformance"))), tabs,
    h("div.tools", null, search, h("button.icon", { type: "button", onclick: toggleTheme, title: "Light or dark (t)" }, "Theme"), h("button.icon", { type: "button", onclick: toggleHelp, title: "Keys (?)" }, "?")));
}

function verdictMark() {
  const verdict = summaryVerdict();
  return h(`span.cell.v-${verdict}`, { "aria-hidden": "true", style: { width: "26px", height: "26px", flex: "none", borderRadius: "7px", display: "grid", placeItems: "center" } }, SIGNS[verdict]);
}

document.documentElement.dataset.theme = firstTheme();
addEventListener("hashchange", showRoute);
addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
  for (const details of document.querySelectorAll("#main details")) details.open = true;
});
addEventListener("afterprint", () => { document.documentElement.dataset.theme = firstTheme(); });
showRoute();
followServer();
