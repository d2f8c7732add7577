// Requirement × case. Only the cells in view are drawn.

const CELL = 30, ROW = 30, MOST_COLUMNS = 40;

function showMatrix(main, route) {
  main.classList.add("fill");
  const params = opensOnFailures(route.params);
  const { rows, columns } = matrixOf(params);
  const cellAt = (r, c) => cellOfCases(rows[r], columns[c].cases);
  const counts = {};
  for (const r of rows.keys()) for (const c of columns.keys()) {
    const cell = cellAt(r, c);
    if (cell) counts[cell.verdict] = (counts[cell.verdict] || 0) + 1;
  }
  for (const cell of index.cells.values()) counts[cell.verdict] = counts[cell.verdict] || 0;
  const caption = h("div.caption", { "aria-live": "polite" }, h("span.muted", null, "Move with the arrows; Enter opens a cell."));
  const grid = matrixGrid(rows, columns, cellAt, (r, c) => caption.replaceChildren(cellText(rows[r], columns[c], cellAt(r, c))));
  const isGrouped = columns.some((c) => c.family !== undefined);
  main.append(h("div.page", null,
    filterBar({ ...route, params }, ["area", "provider", "ingress"], counts, `${count(rows.length, "requirement")} × ${count(columns.length, isGrouped ? "family" : "case", isGrouped ? "families" : "cases")}`),
    h("p.legend", null, ORDER.filter((v) => counts[v] !== undefined).map((v) => h("span", null, h(`span.sign.v-${v}`, null, SIGNS[v]), ` ${v.replaceAll("-", " ")}`)), h("span", null, "· not asked"), isGrouped && h("span", null, "A column is a family of cases; open it by its name.")),
    rows.length && columns.length ? h("div.grow", { style: { display: "flex", flexDirection: "column", minHeight: 0 } }, grid.el, caption) : emptyNote("Nothing matches these filters.")));
  grid.draw();
  const worst = rows.flatMap((row, r) => columns.map((column, c) => [rank((cellAt(r, c) || { verdict: "not-applicable" }).verdict), r, c])).sort((a, b) => a[0] - b[0])[0];
  if (worst && worst[0] < rank("pass")) caption.replaceChildren(cellText(rows[worst[1]], columns[worst[2]], cellAt(worst[1], worst[2])));
  return { keys: grid.keys, focus: grid.el };
}

/** opensOnFailures chooses what failed where the address chooses no verdict; verdict=all is everything. */
function opensOnFailures(params) {
  if (params.verdict !== undefined || params.q || params.area) return params.verdict === "all" ? { ...params, verdict: "" } : params;
  const has = (list) => list.filter((v) => [...index.cells.values()].some((cell) => cell.verdict === v));
  const failed = has(["harness-error", "fail", "stale", "flaky"]);
  return { ...params, verdict: (failed.length ? failed : has(["warn"])).join(",") };
}

/** cellOfCases is the cell of a requirement for several cases: the worst verdict and all that was observed. */
function cellOfCases(row, cases) {
  let all = null;
  for (const c of cases) {
    const cell = index.cells.get(row.id + "\n" + c.name);
    if (!cell) continue;
    if (!all) all = { ...cell };
    else {
      if (rank(cell.verdict) < rank(all.verdict)) Object.assign(all, { verdict: cell.verdict, reason: cell.reason });
      all.observed += cell.observed;
      all.findings += cell.findings;
    }
  }
  return all;
}

/** matrixOf returns the rows and columns that the filters leave. Many cases stand in families. */
function matrixOf(params) {
  const verdicts = verdictsOf(params);
  let cases = report.cases.filter((c) => isOfFilter(c, params));
  let rows = report.requirements.filter((r) => !params.area || r.area === params.area);
  if (params.q) {
    const byCase = cases.filter((c) => hasWords(params.q, c.name));
    const byRequirement = rows.filter((r) => hasWords(params.q, `${r.id} ${r.title}`));
    if (byRequirement.length) rows = byRequirement;
    else cases = byCase;
  }
  if (verdicts.size) {
    const has = (r, c) => { const cell = index.cells.get(r.id + "\n" + c.name); return cell && verdicts.has(cell.verdict); };
    rows = rows.filter((r) => cases.some((c) => has(r, c)));
    cases = cases.filter((c) => rows.some((r) => has(r, c)));
  }
  if (cases.length <= MOST_COLUMNS || params.family) return { rows, columns: cases.map((c) => ({ name: c.name, cases: [c], href: caseLink(c) })) };
  const families = Map.groupBy ? Map.groupBy(cases, familyOf) : cases.reduce((all, c) => all.set(familyOf(c), [...(all.get(familyOf(c)) || []), c]), new Map());
  return { rows, columns: [...families].map(([family, list]) => ({ name: list.length > 1 ? `${family} (${list.length})` : list[0].name, cases: list, family, href: list.length > 1 ? link(["matrix"], { ...params, verdict: params.verdict || "all", family }) : caseLink(list[0]) })) };
}

function cellText(row, column, cell) {
  return h("div.row", null, cell ? verdictChip(cell.verdict) : h("span.verdict", null, "not asked"), h("b", null, row.id), h("span", null, row.title), h("span.muted", null, column.name),
    cell && h("span.muted.num", null, `${count(cell.observed, "place")} observed` + (cell.findings ? `, ${count(cell.findings, "finding")}` : "")), cell && cell.reason && h("span.muted", null, cell.reason));
}

/** shortName is what the head of a column has room for. */
function shortName(name) {
  const shown = report.kind === "check" ? name.split("/").pop() : name;
  return shown.length > 32 ? shown.slice(0, 31) + "…" : shown;
}

function matrixGrid(rows, columns, cellAt, selected) {
  const narrow = innerWidth < 820;
  const nameWidth = narrow ? 104 : 380;
  const longest = columns.reduce((n, c) => Math.max(n, shortName(c.name).length), 0);
  const headHeight = Math.min(210, Math.max(64, longest * 5.6 + 26));
  const width = nameWidth + columns.length * CELL + headHeight * .62, height = headHeight + rows.length * ROW;
  const corner = h("div.corner", { style: { width: `${nameWidth}px`, height: `${headHeight}px` } }, narrow ? "" : "requirement × case");
  const heads = h("div.heads", { style: { height: `${headHeight}px`, width: `${width}px` } }, corner);
  const names = h("div.names", { style: { width: `${nameWidth}px`, height: `${rows.length * ROW}px` } });
  const cells = h("div", { style: { position: "absolute", left: "0", top: "0" } });
  const el = h("div.grid", { tabindex: "0", role: "grid", "aria-label": "Requirements and cases", "aria-rowcount": rows.length, "aria-colcount": columns.length },
    h("div", { style: { position: "relative", width: `${width}px`, height: `${height + 10}px` } }, heads, names, cells));
  let active = [-1, -1], drawnAt = "";

  function draw(again) {
    const r0 = Math.max(0, Math.floor(el.scrollTop / ROW) - 3), r1 = Math.min(rows.length, r0 + Math.ceil((el.clientHeight || 600) / ROW) + 6);
    const c0 = Math.max(0, Math.floor(el.scrollLeft / CELL) - 8), c1 = Math.min(columns.length, c0 + Math.ceil((el.clientWidth || 1200) / CELL) + 12);
    const at = [r0, r1, c0, c1].join();
    if (at === drawnAt && !again) return;
    drawnAt = at;
    heads.replaceChildren(corner, ...columns.slice(c0, c1).map((c, i) => headOf(c, c0 + i)));
    names.replaceChildren(...rows.slice(r0, r1).map((r, i) => nameOf(r, r0 + i)));
    const drawn = [];
    for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) drawn.push(cellOf(r, c));
    cells.replaceChildren(...drawn);
  }
  const headOf = (c, i) => h(i === active[1] ? "a.col.on" : "a.col", { href: c.href, title: c.name, style: { left: `${nameWidth + i * CELL}px` } }, shortName(c.name));
  const nameOf = (r, i) => h("a.name" + (i === active[0] ? ".on" : "") + (i && rows[i - 1].area !== r.area ? ".first" : ""), { href: link(["requirement", r.id]), title: r.title, style: { top: `${i * ROW}px`, height: `${ROW}px` } },
    h("code", null, r.id), narrow ? null : h("span.clip", null, r.title));
  function cellOf(r, c) {
    const cell = cellAt(r, c);
    const isActive = r === active[0] && c === active[1];
    const sign = cell ? SIGNS[cell.verdict] : "·";
    return h(cell ? `div.cell.v-${cell.verdict}` : "div.cell.void", {
      role: "gridcell", id: `cell-${r}-${c}`, class: (cell ? `cell v-${cell.verdict}` : "cell void") + (isActive ? " active" : ""), "aria-label": `${rows[r].id}, ${columns[c].name}: ${cell ? cell.verdict : "not asked"}`,
      title: `${rows[r].id} · ${columns[c].name}: ${cell ? cell.verdict : "not asked"}`, "aria-rowindex": r + 1, "aria-colindex": c + 1,
      style: { left: `${nameWidth + c * CELL + 3}px`, top: `${headHeight + r * ROW + 3}px` },
      onclick: () => { select(r, c); open(); }, onmouseenter: () => selected(r, c),
    }, sign);
  }
  function select(r, c) {
    active = [Math.max(0, Math.min(rows.length - 1, r)), Math.max(0, Math.min(columns.length - 1, c))];
    const top = active[0] * ROW, left = active[1] * CELL;
    if (top < el.scrollTop) el.scrollTop = top;
    if (top + ROW + headHeight > el.scrollTop + el.clientHeight) el.scrollTop = top + ROW + headHeight - el.clientHeight;
    if (left < el.scrollLeft) el.scrollLeft = left;
    if (left + CELL + nameWidth > el.scrollLeft + el.clientWidth) el.scrollLeft = left + CELL + nameWidth - el.clientWidth;
    draw(true);
    el.setAttribute("aria-activedescendant", `cell-${active[0]}-${active[1]}`);
    selected(...active);
  }
  function open() {
    if (active[0] < 0) return;
    const [row, column] = [rows[active[0]], columns[active[1]]];
    const found = index.findings.filter((f) => column.cases.includes(f.case) && requirementOf(f.check) === row.id);
    if (found.length === 1) location.hash = findingLink(found[0]);
    else if (found.length) go(["findings"], column.cases.length > 1 ? { family: column.family, q: row.id } : { case: column.name, q: row.id });
    else if (column.cases.length > 1) go(["matrix"], { family: column.family, q: row.id, verdict: "all" });
    else go(["case", column.name], { q: row.id });
  }
  const move = (dr, dc) => (active[0] < 0 ? select(0, 0) : select(active[0] + dr, active[1] + dc));
  el.addEventListener("scroll", () => draw(), { passive: true });
  new ResizeObserver(() => draw(true)).observe(el);
  return {
    el, draw, keys: {
      ArrowDown: () => move(1, 0), j: () => move(1, 0), ArrowUp: () => move(-1, 0), k: () => move(-1, 0), ArrowLeft: () => move(0, -1), h: () => move(0, -1),
      ArrowRight: () => move(0, 1), l: () => move(0, 1), Home: () => select(active[0], 0), End: () => select(active[0], columns.length - 1), Enter: open,
    },
  };
}
