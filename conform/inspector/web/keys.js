// Keys, the theme and the help.

const HELP = [["/", "search"], ["j k ↓ ↑", "move in a list"], ["← → h l", "move in the matrix"], ["Enter", "open"], ["Esc", "back"], ["n p", "next or previous finding or exchange"],
  ["1 2 3 4", "overview, matrix, findings, cases"], ["t", "light or dark"], ["?", "this help"]];

function toggleHelp() {
  const dialog = document.getElementById("help");
  if (dialog.open) return dialog.close();
  dialog.replaceChildren(h("h1", null, "Keys"), h("dl.facts", { style: { margin: "14px 0" } }, HELP.map(([keys, what]) => [h("dt", null, keys.split(" ").map((k) => [h("kbd", null, k), " "])), h("dd", null, what)])),
    h("form", { method: "dialog" }, h("button.icon", null, "Close")));
  dialog.showModal();
}

/** The theme is that of the system until the reader chooses. */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem("conform-theme", theme); } catch { /* a page of a file may have no storage */ }
}

function firstTheme() {
  try {
    const kept = localStorage.getItem("conform-theme");
    if (kept) return kept;
  } catch { /* see above */ }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

const toggleTheme = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");

const TABS = [["Overview", ""], ["Matrix", "matrix"], ["Findings", "findings"], ["Cases", "cases"]];

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || document.getElementById("help").open) return;
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName);
  if (e.key === "Escape") {
    if (isTyping) e.target.blur();
    else if (view.up) location.hash = view.up;
    else if (location.hash.length > 2) location.hash = "#/";
    return;
  }
  if (isTyping) return;
  const isButton = /^(A|BUTTON|SUMMARY)$/.test(e.target.tagName);
  if (e.key === "Enter" && isButton) return;
  const act = (view.keys || {})[e.key] || {
    "/": () => document.querySelector(".search").focus(), "?": toggleHelp, t: toggleTheme,
    1: () => go([]), 2: () => go(["matrix"]), 3: () => go(["findings"]), 4: () => go(["cases"]),
  }[e.key];
  if (act) {
    e.preventDefault();
    act();
  }
});
