// The address of a view is the part behind "#", so that it survives a reload and can be
// sent to others: #/findings?verdict=fail&q=signature

const link = (path, params) => {
  const query = new URLSearchParams(Object.entries(params || {}).filter(([, v]) => v !== "" && v !== undefined && v !== null)).toString();
  return "#/" + path.map(encodeURIComponent).join("/") + (query ? "?" + query : "");
};

function currentRoute() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map((p) => {
    try { return decodeURIComponent(p); } catch { return p; }
  });
  return { path: parts, params: Object.fromEntries(new URLSearchParams(query || "")) };
}

function go(path, params, replaces) {
  const address = link(path, params);
  if (replaces) {
    history.replaceState(null, "", address);
    showRoute();
  } else if (location.hash !== address) {
    location.hash = address;
  }
}

const caseLink = (c, ...more) => link(["case", c.name, ...more]);
const findingLink = (f) => link(["finding", f.case.name, f.check, String(f.number)]);

/** exchangeLink leads to a byte of a request or a response. */
const exchangeLink = (c, number, params) => link(["case", c.name, "exchange", String(number)], params);

/** sideOf says whether a finding speaks of the request or of the response. */
const sideOf = (f) => (f.finding.event !== undefined || f.ofSource ? "response" : "request");
