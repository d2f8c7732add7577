// A page that a server goes on with: each event brings a case, or the end.

function followServer() {
  if (!report.live) return;
  const events = new EventSource("events?after=" + (report.revision || 0));
  events.addEventListener("case", (e) => mergeDelta(JSON.parse(e.data)));
  events.addEventListener("end", (e) => { events.close(); mergeEnd(JSON.parse(e.data)); });
  events.addEventListener("reload", () => { events.close(); location.reload(); });
}

/** mergeDelta adds what a case brought. A case of the same name replaces the earlier. */
function mergeDelta(delta) {
  const at = report.cases.findIndex((c) => c.name === delta.case.name);
  if (at < 0) report.cases.push(delta.case);
  else report.cases[at] = delta.case;
  report.cases.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const r of delta.requirements || []) if (!index.requirements.has(r.id)) report.requirements.push(r);
  report.requirements.sort((a, b) => (a.id < b.id ? -1 : 1));
  report.rules = { ...report.rules, ...delta.rules };
  report.packs = [...(report.packs || []), ...(delta.packs || [])];
  report.revision = delta.revision;
  if (delta.summary) report.summary = delta.summary;
  clearTimeout(mergeDelta.timer);
  mergeDelta.timer = setTimeout(showAgain, 200);
  buildIndex();
}

/** mergeEnd takes over what the finished report knows more. The page needs no server now. */
function mergeEnd(end) {
  for (const ended of end.cases) {
    const c = index.cases.get(ended.name);
    if (c) Object.assign(c, ended);
    else report.cases.push(ended);
  }
  delete end.cases;
  Object.assign(report, end, { live: false });
  buildIndex();
  showAgain();
}

/** showAgain draws the view anew and keeps where the reader was. */
function showAgain() {
  if (document.activeElement && document.activeElement.matches("input, select")) return;
  const main = document.getElementById("main"), inner = main.querySelector(".list, .grid");
  const place = [main.scrollTop, inner ? inner.scrollTop : 0, view.list ? view.list.active : -1];
  showRoute();
  main.scrollTop = place[0];
  const now = main.querySelector(".list, .grid");
  if (now) now.scrollTop = place[1];
  if (view.list && place[2] >= 0) view.list.select(place[2]);
}
