package inspector

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// SiteSchema is the name of the format of a [Site].
const SiteSchema = "conform.site.v1"

// maxHistory bounds the earlier runs of an agent that a site keeps.
const maxHistory = 50

// Site is what a static site shows of several agents, the worst first. It is plain data.
type Site struct {
	Schema string       `json:"schema"`
	Agents []*SiteAgent `json:"agents"`
}

// SiteAgent is one agent with its last run and those before.
type SiteAgent struct {
	// ID is the name of the agent in the files of the site.
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	SiteRun
	Sources []string `json:"sources,omitempty"`
	Ingress []string `json:"ingress,omitempty"`
	// Cases counts those that were run, Seen and Total requirements.
	Cases int `json:"cases"`
	Seen  int `json:"seen"`
	Total int `json:"total"`
	// Areas are the ids of the requirements by area and verdict. An area of which nothing was seen
	// is missing.
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
	isWrong := func(a *SiteAgent) bool { return a == nil || a.ID != siteID(a.Name) }
	if err := json.Unmarshal(data, &s); err != nil || s.Schema != SiteSchema || slices.ContainsFunc(s.Agents, isWrong) {
		return nil, fmt.Errorf("is not %s; name a folder that conform matrix --site wrote, or an empty one", SiteSchema)
	}
	return &s, nil
}

var errUnshared = errors.New("holds content, which a site does not publish; write it with --share")

// Put adds the shared page of an agent, or replaces the one before, which goes to the history. It
// returns the page that the site keeps.
func (s *Site) Put(p Page, issues []string) (*SiteAgent, Page, error) {
	if !p.Shared {
		return nil, p, errUnshared
	}
	p = p.Condense()
	p.addCatalogue(p.Summary)
	a, isKnown := newSiteAgent(&p)
	if i := slices.IndexFunc(s.Agents, func(b *SiteAgent) bool { return b.ID == a.ID }); i < 0 {
		s.Agents = append(s.Agents, a)
	} else {
		before := s.Agents[i]
		if before.Name != a.Name {
			return nil, p, fmt.Errorf("is of %q, whose files would have the names of those of %q; give the agent another name", a.Name, before.Name)
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
	name := cmp.Or(p.Subject.Name, "agent")
	a = &SiteAgent{ID: siteID(name), Name: name, Version: p.Subject.Version, Sources: p.Sources, Ingress: p.Ingress,
		SiteRun: SiteRun{Of: p.Subject.Version, Broken: map[string]report.Verdict{}},
		Areas:   map[string]map[report.Verdict][]string{}, Links: map[string]string{}}
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
					area := report.Result{Requirement: id}.Area()
					found[area] = append(found[area], strings.Join([]string{"finding", url.PathEscape(c.Name), url.PathEscape(r.Check), fmt.Sprint(n)}, "/"))
				}
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(worst)) {
		area := report.Result{Requirement: id}.Area()
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
		if a.Links[area] = "findings?area=" + url.QueryEscape(area); len(list) == 1 {
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

// siteID makes the name of a file of the name of an agent.
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

// areasSeen are those of which some agent shows something, in the order of the catalogue.
func (s *Site) areasSeen() (list []string) {
	seen := map[string]bool{}
	for _, a := range s.Agents {
		for area := range a.Areas {
			seen[area] = true
		}
	}
	list = slices.Sorted(maps.Keys(seen))
	slices.SortStableFunc(list, func(a, b string) int { return slices.Index(specs.Areas, a) - slices.Index(specs.Areas, b) })
	return list
}
