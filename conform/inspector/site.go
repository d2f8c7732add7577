package inspector

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// SiteSchema is the name of the format of a [Site].
const SiteSchema = "conform.site.v1"

// maxHistory bounds the earlier runs of an agent that a site keeps.
const maxHistory = 50

// Site is what a static site shows of several agents, gateways and servers, the worst first. It is plain data.
type Site struct {
	Schema string       `json:"schema"`
	Agents []*SiteAgent `json:"agents"`
}

// SiteAgent is an agent, a gateway or a server with its last run and those before. A gateway has a row for
// each pair of wires.
type SiteAgent struct {
	// ID names the files of the row.
	ID string `json:"id"`
	// Kind is agent, gateway or server.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Wire and UpstreamWire are those of a [report.Subject].
	Wire         string `json:"wire,omitempty"`
	UpstreamWire string `json:"upstream_wire,omitempty"`
	Version      string `json:"version,omitempty"`
	// Only says which cases the last run had, "" for all.
	Only string `json:"only,omitempty"`
	SiteRun
	Sources []string `json:"sources,omitempty"`
	Ingress []string `json:"ingress,omitempty"`
	// Cases counts those that were run, Seen and Total requirements.
	Cases int `json:"cases"`
	Seen  int `json:"seen"`
	Total int `json:"total"`
	// Areas are the ids of the requirements, or of the duties, by area and verdict. An area of which nothing
	// was seen is missing.
	Areas map[string]map[report.Verdict][]string `json:"areas"`
	// Links lead to the one finding of an area, by area, as the part of an address behind "#".
	Links map[string]string `json:"links,omitempty"`
	// Issues are the addresses where what is known to fail is worked on.
	Issues []string `json:"issues,omitempty"`
	// History are the earlier runs, the last one first.
	History []SiteRun `json:"history,omitempty"`
}

// SiteRun is what one run of an agent came to.
type SiteRun struct {
	// Date is the day of the run, yyyy-mm-dd.
	Date    string         `json:"date,omitempty"`
	Of      string         `json:"of,omitempty"` // the version of the agent
	Verdict report.Verdict `json:"verdict"`
	// Broken are the requirements that failed or warned, by their verdicts. What a baseline knows to
	// fail has failed.
	Broken map[string]report.Verdict `json:"broken,omitempty"`
}

// ReadSite reads the JSON of a site.
func ReadSite(data []byte) (*Site, error) {
	var s Site
	isWrong := func(a *SiteAgent) bool {
		if a != nil {
			a.Kind = cmp.Or(a.Kind, siteTables[0].kind) // sites of the first release have agents only
		}
		return a == nil || a.ID != a.makeID() ||
			!slices.ContainsFunc(siteTables, func(t siteTable) bool { return t.kind == a.Kind })
	}
	if err := json.Unmarshal(data, &s); err != nil || s.Schema != SiteSchema || slices.ContainsFunc(s.Agents, isWrong) {
		return nil, fmt.Errorf("is not %s; name a folder that conform matrix --site wrote, or an empty one", SiteSchema)
	}
	return &s, nil
}

var errUnshared = errors.New("holds content, which a site does not publish; write it with --share")

// Put adds a shared page, or replaces the one before of the same subject on the same wires, which goes to
// the history. It returns the page that the site keeps.
func (s *Site) Put(p Page, issues []string) (*SiteAgent, Page, error) {
	if !p.Shared {
		return nil, p, errUnshared
	}
	p = p.Condense()
	p.addCatalogue(p.Summary)
	a, isKnown := newSiteAgent(&p)
	isKnown = isKnown || len(issues) > 0
	if i := slices.IndexFunc(s.Agents, func(b *SiteAgent) bool { return b.ID == a.ID }); i < 0 {
		s.Agents = append(s.Agents, a)
	} else {
		before := s.Agents[i]
		if before.Name != a.Name || before.Kind != a.Kind || before.route() != a.route() {
			return nil, p,
				fmt.Errorf("is of the %s %q, whose files would have the names of those of the %s %q; give it another name", a.Kind, a.Name, before.Kind, before.Name)
		}
		a.History = before.History
		if before.Date != a.Date || before.Of != a.Of {
			a.History = slices.Concat([]SiteRun{before.SiteRun}, before.History)
			a.History = a.History[:min(len(a.History), maxHistory)]
		}
		issues = append(issues, before.Issues...)
		s.Agents[i] = a
	}
	if isKnown {
		slices.Sort(issues)
		a.Issues = slices.Compact(issues)
	}
	slices.SortStableFunc(s.Agents, func(a, b *SiteAgent) int {
		return cmp.Or(b.Verdict.Rank()-a.Verdict.Rank(), b.worstCount()-a.worstCount(), cmp.Compare(a.ID, b.ID))
	})
	return a, p, nil
}

// newSiteAgent sums up a page: each requirement has the worst verdict that says something. isKnown is
// set where a baseline knows of a failure.
func newSiteAgent(p *Page) (a *SiteAgent, isKnown bool) {
	a = &SiteAgent{Kind: "agent", Name: cmp.Or(p.Subject.Name, "agent"), Version: p.Subject.Version, Only: p.Only,
		Sources: p.Sources, Ingress: p.Ingress,
		SiteRun: SiteRun{Of: p.Subject.Version, Broken: map[string]report.Verdict{}},
		Areas:   map[string]map[report.Verdict][]string{}, Links: map[string]string{}}
	if p.Subject.Kind == "gateway" || p.Subject.Kind == "server" {
		a.Kind, a.Wire, a.UpstreamWire = p.Subject.Kind, p.Subject.Wire, p.Subject.UpstreamWire
	}
	a.ID = a.makeID()
	if !p.Started.IsZero() {
		a.Date = p.Started.UTC().Format("2006-01-02")
	}
	if p.Summary != nil {
		a.Seen, a.Total = p.Summary.Coverage.Seen, p.Summary.Coverage.Total
	}
	worst, found := map[string]report.Verdict{}, map[string][]string{}
	for _, c := range p.Cases {
		if c.Verdict != report.NotApplicable {
			a.Cases++
		}
		for _, r := range c.Results {
			id, _, _ := strings.Cut(r.Check, "/")
			if !r.OfSource && r.Verdict.IsDecided() && (r.Verdict != report.KnownFail || len(r.Findings) > 0) {
				isKnown = isKnown || r.Verdict == report.KnownFail
				worst[id] = report.Worst(r.Verdict.Bare(), cmp.Or(worst[id], r.Verdict.Bare()))
			}
			for n, f := range r.Findings {
				if f.Cause == "" {
					area := areaOf(id)
					found[area] = append(found[area],
						strings.Join([]string{"finding", url.PathEscape(c.Name), url.PathEscape(r.Check),
							fmt.Sprint(n)}, "/"))
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(worst)) {
		area := areaOf(id)
		if a.Areas[area] == nil {
			a.Areas[area] = map[report.Verdict][]string{}
		}
		a.Areas[area][worst[id]] = append(a.Areas[area][worst[id]], id)
		if worst[id] != report.Pass {
			a.Broken[id] = worst[id]
		}
	}
	a.Verdict = report.Worst(slices.Collect(maps.Values(worst))...)
	for area, list := range found {
		if a.Links[area] = "findings?" + areaFilter(area); len(list) == 1 {
			a.Links[area] = list[0]
		}
	}
	return a, isKnown
}

// worstCount counts the requirements that have the verdict of the agent.
func (a *SiteAgent) worstCount() (n int) {
	for _, byVerdict := range a.Areas {
		n += len(byVerdict[a.Verdict])
	}
	return n
}

// areaOf is the column of a requirement: its area, or of a duty the id without its number.
func areaOf(id string) string {
	if specs.FindDuty(id) != nil {
		return strings.TrimRight(id, "-0123456789")
	}
	return report.Result{Requirement: id}.Area()
}

// areaFilter is the part of an address that shows one column. Pages have one area for all duties of servers.
func areaFilter(area string) string {
	if strings.Contains(area, "-") {
		return "q=" + url.QueryEscape(area)
	}
	return "area=" + url.QueryEscape(area)
}

// makeID makes the name of the files of a row: of its name, of servers and gateways also of kind and wires.
func (a *SiteAgent) makeID() string {
	if a.Kind == "agent" {
		return siteID(a.Name)
	}
	return siteID(strings.Join(strings.Fields(strings.Join([]string{a.Kind, a.Wire, a.UpstreamWire, a.Name}, " ")),
		" "))
}

// siteID makes the name of a file of a text.
func siteID(name string) string {
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return cmp.Or(strings.Trim(id[:min(len(id), 60)], "-"), "agent")
}

// Changes names the requirements that are broken and were not in the run before, and those that
// were and are not any more.
func (a *SiteAgent) Changes() (broken, mended []string) {
	if len(a.History) == 0 {
		return nil, nil
	}
	before := a.History[0].Broken
	for id := range a.Broken {
		if before[id] == "" {
			broken = append(broken, id)
		}
	}
	for id := range before {
		if a.Broken[id] == "" {
			mended = append(mended, id)
		}
	}
	slices.Sort(broken)
	slices.Sort(mended)
	return broken, mended
}

// JSON is the form in which a site is kept, and which others may read.
func (s *Site) JSON() []byte {
	var b bytes.Buffer
	_ = report.WriteJSON(&b, s) // plain data, into memory
	return b.Bytes()
}

// siteTable is a table of a site: its rows are of one kind.
type siteTable struct{ kind, heading, broken string }

// siteTables are the tables of a site in the order of the page.
var siteTables = []siteTable{
	{"agent", "Agents", "What agents break"}, {"gateway", "Gateways", "What gateways break"},
	{"server", "Servers", "What servers break"},
}

// rows are those of a table.
func (s *Site) rows(t siteTable) (list []*SiteAgent) {
	for _, a := range s.Agents {
		if a.Kind == t.kind {
			list = append(list, a)
		}
	}
	return list
}

// Count says how many rows of each kind the site has: "13 agents, 1 gateway".
func (s *Site) Count() string {
	var said []string
	for _, t := range siteTables {
		switch n := len(s.rows(t)); n {
		case 0:
		case 1:
			said = append(said, "1 "+t.kind)
		default:
			said = append(said, fmt.Sprint(n, " ", t.kind, "s"))
		}
	}
	return cmp.Or(strings.Join(said, ", "), "no agent")
}

// areasSeen are those of which some row shows something, in the order of the catalogue.
func areasSeen(rows []*SiteAgent) (list []string) {
	seen := map[string]bool{}
	for _, a := range rows {
		for area := range a.Areas {
			seen[area] = true
		}
	}
	list = slices.Sorted(maps.Keys(seen))
	order := slices.Concat(specs.Areas, specs.DutyAreas)
	slices.SortStableFunc(list, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return list
}

// route names the wires of a row for people: "Anthropic Messages → Chat Completions". It is "" for an agent.
func (a *SiteAgent) route() string {
	var titles []string
	for _, name := range []string{a.Wire, a.UpstreamWire} {
		if w := wires.Find(name); w != nil {
			titles = append(titles, w.Title)
		} else if name != "" {
			titles = append(titles, name)
		}
	}
	return strings.Join(titles, " → ")
}

// signs are those of verdicts that say something about an agent, the worst first.
var signs = []struct {
	verdict report.Verdict
	sign    string
}{{report.Fail, "✕"}, {report.Flaky, "~"}, {report.Warn, "!"}, {report.Pass, "✓"}}

// escapeText is text of others on one line of HTML or SVG.
func escapeText(s string) string { return html.EscapeString(terminal.Line(s)) }

const siteScript = `document.documentElement.dataset.theme=matchMedia("(prefers-color-scheme: dark)").matches?"dark":"light"`

// WriteHTML writes the first page of the site: for agents, gateways and servers a table by areas, what fails
// first, with a legend. It loads nothing but the badges beside it.
func (s *Site) WriteHTML(w io.Writer) error {
	style := joinFiles([]string{"theme.css", "layout.css", "site.css"})
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src 'self'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>conform: agents, gateways, servers</title><style>%s</style><script>%s</script></head>
<body><main><div class="page"><h1>What agents, gateways and servers send</h1>
<p class="lead">%s, judged by conform. What fails stands first. A cell leads to the finding and its place in the traffic;
hashes and lengths stand for content. <a href="site.json">The same as JSON</a>.</p>
`, sourceHash(style), sourceHash(siteScript), style, siteScript, s.Count())
	for _, t := range siteTables {
		if rows := s.rows(t); len(rows) > 0 {
			t.write(&b, rows)
		}
	}
	b.WriteString(`<p class="legend">`)
	for _, v := range signs {
		fmt.Fprintf(&b, `<span><span class="sign v-%[1]s">%[2]s</span> %[3]s</span>`, v.verdict, v.sign,
			strings.ReplaceAll(string(v.verdict), "-", " "))
	}
	b.WriteString("<span>a number counts requirements</span><span>an empty cell: nothing was seen</span></p>\n")
	for _, t := range siteTables {
		if rows := s.rows(t); len(rows) > 0 {
			t.writeBroken(&b, rows)
		}
	}
	s.writeHistory(&b)
	b.WriteString(`<section class="card"><h2>Add an agent</h2><p>Judge it with <code>conform run --share --report html=my-agent.html,json=my-agent.json</code>, then put it here with
<code>conform matrix --site DIR my-agent.json</code>. <code>conform gateway</code> and <code>conform server</code> write such reports, too. A file suffices: the JSON report with the page beside it, or the page alone.</p></section>
</div></main></body></html>
`)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeBroken lists the requirements or duties that fail, the most frequent first.
func (t siteTable) writeBroken(b *strings.Builder, rows []*SiteAgent) {
	breakers := map[string][]*SiteAgent{}
	for _, a := range rows {
		for id, v := range a.Broken {
			if v != report.Warn {
				breakers[id] = append(breakers[id], a)
			}
		}
	}
	ids := slices.Sorted(maps.Keys(breakers))
	slices.SortStableFunc(ids, func(a, b string) int { return len(breakers[b]) - len(breakers[a]) })
	fmt.Fprintf(b, "<section class=\"card\"><h2>%s</h2>\n", t.broken)
	for _, id := range ids {
		title := ""
		if r, err := specs.FindRequirement(id); err == nil {
			title = r.Title
		}
		fmt.Fprintf(b, `<p class="broken"><code>%s</code> %s:`, escapeText(id), escapeText(title))
		for _, a := range breakers[id] {
			fmt.Fprintf(b, ` <a href="agents/%s.html#/findings?q=%s" title="%s">%s</a>`, a.ID, escapeText(id),
				escapeText(a.route()), escapeText(a.Name))
		}
		b.WriteString("</p>\n")
	}
	if len(ids) == 0 {
		b.WriteString("<p>Nothing.</p>")
	}
	b.WriteString("</section>\n")
}

// write writes a table: rows by areas.
func (t siteTable) write(b *strings.Builder, rows []*SiteAgent) {
	areas := areasSeen(rows)
	fmt.Fprintf(b,
		`<section class="card"><h2>%[1]s</h2><div class="scroll-x" tabindex="0" role="region" aria-label="%[1]s by areas"><table class="plain board"><thead><tr><th scope="col">%[2]s</th><th scope="col">verdict</th>`, t.heading, t.kind)
	for _, area := range areas {
		fmt.Fprintf(b, `<th scope="col"><span title="%[2]s">%[1]s<small>%[2]s</small></span></th>`, escapeText(area),
			escapeText(specs.AreaName(area)))
	}
	b.WriteString("</tr></thead><tbody>\n")
	for _, a := range rows {
		fmt.Fprintf(b,
			`<tr><th scope="row"><a href="agents/%s.html">%s</a> <span class="muted">%s</span>%s</th><td><a href="agents/%s.html"><img src="badges/%s.svg" alt="%s" height="20"></a></td>`,
			a.ID, escapeText(a.Name), escapeText(a.Version), a.remarks(), a.ID, a.ID, escapeText(string(a.Verdict)))
		for _, area := range areas {
			fmt.Fprintf(b, `<td data-area="%s">%s</td>`, escapeText(area), a.areaCell(area))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table></div></section>\n")
}

// remarks are the wires of a row, and that its run had some cases only.
func (a *SiteAgent) remarks() (marks string) {
	if route := a.route(); route != "" {
		marks += `<small>` + escapeText(route) + `</small>`
	}
	if a.Only != "" {
		marks += fmt.Sprintf(`<small class="bad" title="%s">some cases only</small>`, escapeText(a.Only))
	}
	return marks
}

// areaCell shows the worst verdict of an area, and how many requirements have it.
func (a *SiteAgent) areaCell(area string) string {
	for _, v := range signs {
		ids := a.Areas[area][v.verdict]
		if len(ids) == 0 {
			continue
		}
		all := "matrix?verdict=all&" + areaFilter(area)
		target, what := cmp.Or(a.Links[area], all), strings.Join(ids, ", ")
		if v.verdict == report.Pass {
			target, what = all, fmt.Sprintf("%d requirements", len(ids))
		}
		return fmt.Sprintf(`<a class="sign v-%s" href="agents/%s.html#/%s" title="%s %s: %s">%s%d</a>`, v.verdict, a.ID,
			escapeText(target), escapeText(area), v.verdict, escapeText(what), v.sign, len(ids))
	}
	return ""
}

// writeHistory says of each row when it was run, with which cases, what differs from the run before, and
// where known failures are worked on.
func (s *Site) writeHistory(b *strings.Builder) {
	b.WriteString("<section class=\"card\"><h2>Runs</h2>\n")
	for _, a := range s.Agents {
		fmt.Fprintf(b, `<details><summary><b>%s %s</b> %s, %d cases, %d of %d requirements seen`,
			escapeText(strings.TrimSpace(a.Name+" "+a.Version)), escapeText(a.route()),
			escapeText(cmp.Or(a.Date, "no date")), a.Cases, a.Seen, a.Total)
		if a.Only != "" {
			fmt.Fprintf(b, "; only: %s", escapeText(a.Only))
		}
		broken, mended := a.Changes()
		if len(broken) > 0 {
			fmt.Fprintf(b, `; <span class="bad">new since %s: %s</span>`, escapeText(a.History[0].Date),
				escapeText(strings.Join(broken, ", ")))
		}
		if len(mended) > 0 {
			fmt.Fprintf(b, `; <span class="good">mended since %s: %s</span>`, escapeText(a.History[0].Date),
				escapeText(strings.Join(mended, ", ")))
		}
		fmt.Fprintf(b, "</summary>\n<p class=muted>answered by %s, reached through %s</p>",
			escapeText(strings.Join(a.Sources, ", ")), escapeText(strings.Join(a.Ingress, ", ")))
		for _, address := range a.Issues {
			if strings.HasPrefix(address, "https://") || !strings.Contains(address, ":") {
				fmt.Fprintf(b, `<p>known: <a href="%s" rel="noreferrer">%s</a></p>`, escapeText(address),
					escapeText(strings.TrimSuffix(path.Base(address), ".md")))
			}
		}
		for _, r := range a.History {
			fmt.Fprintf(b, "<p>%s %s: %s, broken: %s</p>\n", escapeText(r.Date), escapeText(r.Of),
				escapeText(string(r.Verdict)),
				escapeText(cmp.Or(strings.Join(slices.Sorted(maps.Keys(r.Broken)), ", "), "nothing")))
		}
		b.WriteString("</details>\n")
	}
	b.WriteString("</section>\n")
}

// Badge is an SVG that says what the last run came to.
func (a *SiteAgent) Badge() []byte {
	colours := map[report.Verdict]string{report.Pass: "#22713f", report.Warn: "#8a5300", report.NotTestable: "#59616c"}
	right := fmt.Sprintf("%d %s", a.worstCount(), strings.ReplaceAll(string(a.Verdict), "-", " "))
	width := utf8.RuneCountInString(right)*7 + 14
	return fmt.Appendf(nil,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="conform: %[2]s"><title>conform: %[2]s</title><rect width="58" height="20" fill="#40464d"/><rect x="58" width="%[3]d" height="20" fill="%[4]s"/><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="29" y="14">conform</text><text x="%[5]d" y="14">%[2]s</text></g></svg>
`, 58+width, escapeText(right), width, cmp.Or(colours[a.Verdict], "#b3202a"), 58+width/2)
}
