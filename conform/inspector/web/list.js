// A list that draws only the rows in view, so that ten thousand findings cost no more
// than thirty.

const SPARE_ROWS = 6;

/**
 * virtualList makes a list. options: count, height of a row in px, row(i) -> children of
 * the row, open(i), label, classOf(i).
 */
function virtualList(options) {
  const space = h("div.space");
  const el = h("div.list", { tabindex: "0", role: "listbox", "aria-label": options.label }, space);
  const list = { el, active: options.active ?? -1, count: options.count };
  const drawn = new Map();

  function drawRow(i) {
    const row = h("div.item", { role: "option", id: `row-${i}`, "aria-selected": String(i === list.active), "aria-posinset": i + 1, "aria-setsize": list.count }, options.row(i));
    row.style.top = `${i * options.height}px`;
    row.style.height = `${options.height}px`;
    if (options.classOf) row.className += " " + options.classOf(i);
    row.classList.toggle("active", i === list.active);
    row.addEventListener("click", () => {
      if (String(getSelection())) return;
      list.select(i);
      if (options.open) options.open(i);
    });
    return row;
  }

  list.draw = (again) => {
    space.style.height = `${list.count * options.height}px`;
    const from = Math.max(0, Math.floor(el.scrollTop / options.height) - SPARE_ROWS);
    const to = Math.min(list.count, Math.ceil((el.scrollTop + (el.clientHeight || 600)) / options.height) + SPARE_ROWS);
    for (const [i, row] of drawn) {
      if (again || i < from || i >= to) {
        row.remove();
        drawn.delete(i);
      }
    }
    for (let i = from; i < to; i++) {
      if (!drawn.has(i)) {
        drawn.set(i, drawRow(i));
        space.append(drawn.get(i));
      }
    }
  };
  list.select = (i) => {
    if (!list.count) return;
    list.active = Math.max(0, Math.min(list.count - 1, i));
    for (const [k, row] of drawn) {
      row.classList.toggle("active", k === list.active);
      row.setAttribute("aria-selected", String(k === list.active));
    }
    list.reveal(list.active);
    el.setAttribute("aria-activedescendant", `row-${list.active}`);
    if (options.selected) options.selected(list.active);
  };
  list.reveal = (i, inMiddle) => {
    const top = i * options.height;
    if (inMiddle) el.scrollTop = top - el.clientHeight / 2;
    else if (top < el.scrollTop) el.scrollTop = top;
    else if (top + options.height > el.scrollTop + el.clientHeight) el.scrollTop = top + options.height - el.clientHeight;
    list.draw();
  };
  list.move = (by) => list.select(list.active < 0 ? (by > 0 ? 0 : list.count - 1) : list.active + by);
  list.open = () => list.active >= 0 && options.open && options.open(list.active);
  list.page = () => Math.max(1, Math.floor(el.clientHeight / options.height) - 1);
  el.addEventListener("scroll", () => list.draw(), { passive: true });
  new ResizeObserver(() => list.draw()).observe(el);
  return list;
}

/** listKeys are the keys of a view that is a list. */
const listKeys = (list) => ({
  j: () => list.move(1), ArrowDown: () => list.move(1), k: () => list.move(-1), ArrowUp: () => list.move(-1),
  PageDown: () => list.move(list.page()), PageUp: () => list.move(-list.page()),
  Home: () => list.select(0), End: () => list.select(list.count - 1), Enter: () => list.open(),
});
