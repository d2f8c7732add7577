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
	"text/template"
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
			a.Kind = cmp.Or(a.Kind, siteTables[0].Kind) // sites of the first release have agents only
		}
		return a == nil || a.ID != a.makeID() ||
			!slices.ContainsFunc(siteTables, func(t siteTable) bool { return t.Kind == a.Kind })
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
type siteTable struct{ Kind, Heading, Broken string }

// siteTables are the tables of a site in the order of the page.
var siteTables = []siteTable{
	{"agent", "Agents", "What agents break"}, {"gateway", "Gateways", "What gateways break"},
	{"server", "Servers", "What servers break"},
}

// rows are those of a table.
func (s *Site) rows(t siteTable) (list []*SiteAgent) {
	for _, a := range s.Agents {
		if a.Kind == t.Kind {
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
			said = append(said, "1 "+t.Kind)
		default:
			said = append(said, fmt.Sprint(n, " ", t.Kind, "s"))
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
	Verdict report.Verdict
	Sign    string
}{{report.Fail, "✕"}, {report.Flaky, "~"}, {report.Warn, "!"}, {report.Pass, "✓"}}

// escapeText is text of others on one line of HTML or SVG.
func escapeText(s string) string { return html.EscapeString(terminal.Line(s)) }

const siteScript = `document.documentElement.dataset.theme=matchMedia("(prefers-color-scheme: dark)").matches?"dark":"light"`

// sitePage is the first page of a site. What others have written passes the function text.
var sitePage = template.Must(template.New("site.html").Funcs(template.FuncMap{
	"areaName": specs.AreaName, "areas": areasSeen, "broken": breachesOf, "cell": (*SiteAgent).areaCell,
	"changes": func(a *SiteAgent) [2][]string {
		broken, mended := a.Changes()
		return [2][]string{broken, mended}
	},
	"hash": sourceHash, "issueName": issueName,
	"join":   func(list []string) string { return strings.Join(list, ", ") },
	"route":  (*SiteAgent).route,
	"rows":   (*Site).rows,
	"spaced": func(v report.Verdict) string { return strings.ReplaceAll(string(v), "-", " ") },
	"text":   func(said any) string { return escapeText(fmt.Sprint(said)) },
}).ParseFS(web, "web/site.html"))

// WriteHTML writes the first page of the site: for agents, gateways and servers a table by areas, what fails
// first, with a legend; what they break, and of each row when it was run and what differs from the run before. It loads
// nothing but the badges beside it.
func (s *Site) WriteHTML(w io.Writer) error {
	return sitePage.Execute(w, map[string]any{"Site": s, "Tables": siteTables, "Signs": signs, "Script": siteScript,
		"Style": joinFiles([]string{"theme.css", "layout.css", "site.css"})})
}

// siteBreach is a requirement or duty that fails, and by whom.
type siteBreach struct {
	ID, Title string
	By        []*SiteAgent
}

// breachesOf lists the requirements or duties that fail, the most frequent first.
func breachesOf(rows []*SiteAgent) (list []siteBreach) {
	breakers := map[string][]*SiteAgent{}
	for _, a := range rows {
		for id, v := range a.Broken {
			if v != report.Warn {
				breakers[id] = append(breakers[id], a)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(breakers)) {
		r, _ := specs.FindRequirement(id) // a duty has no title here
		list = append(list, siteBreach{id, r.Title, breakers[id]})
	}
	slices.SortStableFunc(list, func(a, b siteBreach) int { return len(b.By) - len(a.By) })
	return list
}

// issueName returns the text that the page shows for a link to an issue, for instance the name of a page about a bug.
// It is "" for an address with another scheme than https, which the page does not link to.
func issueName(address string) string {
	if !strings.HasPrefix(address, "https://") && strings.Contains(address, ":") {
		return ""
	}
	return strings.TrimSuffix(path.Base(address), ".md")
}

// areaCell shows the worst verdict of an area, and how many requirements have it.
func (a *SiteAgent) areaCell(area string) string {
	for _, v := range signs {
		ids := a.Areas[area][v.Verdict]
		if len(ids) == 0 {
			continue
		}
		all := "matrix?verdict=all&" + areaFilter(area)
		target, what := cmp.Or(a.Links[area], all), strings.Join(ids, ", ")
		if v.Verdict == report.Pass {
			target, what = all, fmt.Sprintf("%d requirements", len(ids))
		}
		return fmt.Sprintf(`<a class="sign v-%s" href="agents/%s.html#/%s" title="%s %s: %s">%s%d</a>`, v.Verdict, a.ID,
			escapeText(target), escapeText(area), v.Verdict, escapeText(what), v.Sign, len(ids))
	}
	return ""
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
