package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/conform/report"
)

// scoreboardSchema is the name of the format of a [scoreboard].
const scoreboardSchema = "conform.scoreboard.v1"

// scoreboard is what is known of several agents: one entry for each agent, provider
// and way in. It is plain data.
type scoreboard struct {
	Schema string       `json:"schema"`
	Runs   []agentScore `json:"runs"`
}

// agentScore is what one agent did with one provider by one way in.
type agentScore struct {
	Product  string `json:"product"`
	Version  string `json:"version,omitempty"`
	OS       string `json:"os"`
	Provider string `json:"provider"`
	Ingress  string `json:"ingress"`
	// Date is the day of the run, yyyy-mm-dd.
	Date string `json:"date"`
	// SetDigest names the requirements that the agent was judged by.
	SetDigest string `json:"set_digest"`
	// Report is where the report of the run is, "" where none is kept.
	Report string `json:"report,omitempty"`
	// Bugs are the addresses where what is known to fail is described, each once.
	Bugs []string `json:"bugs,omitempty"`
	// Cases counts the cases that were run, NotTestable those of them that show nothing.
	Cases       int `json:"cases"`
	NotTestable int `json:"not_testable,omitempty"`
	// Interrupted is set when the run ended before its last case.
	Interrupted bool `json:"interrupted,omitempty"`
	// Seconds is how long they took, one after the other.
	Seconds int `json:"seconds"`
	// Results are by area. An area of which nothing was seen is missing.
	Results map[string]areaScore `json:"results"`
}

// areaScore is what was found in one area.
type areaScore struct {
	Verdict report.Verdict `json:"verdict"`
	// Requirements that failed, are known to fail, warned and passed, each list in order.
	Failed []string `json:"failed,omitempty"`
	Known  []string `json:"known,omitempty"`
	Warned []string `json:"warned,omitempty"`
	Passed []string `json:"passed,omitempty"`
}

// newScoreboard makes the scoreboard of runs on an operating system. link returns where
// the report of a run is kept.
func newScoreboard(runs []*report.Run, os string, link func(*report.Run) string) scoreboard {
	board := scoreboard{Schema: scoreboardSchema, Runs: []agentScore{}}
	for _, r := range runs {
		board.Runs = append(board.Runs, runScores(r, os, link(r))...)
	}
	slices.SortStableFunc(board.Runs, func(a, b agentScore) int {
		return cmp.Or(cmp.Compare(a.Product, b.Product), cmp.Compare(a.Provider, b.Provider), cmp.Compare(b.Ingress, a.Ingress))
	})
	return board
}

// runScores are the entries of one run. What was not run has none.
func runScores(r *report.Run, os, link string) (list []agentScore) {
	type key struct{ provider, ingress string }
	found := map[key]*agentScore{}
	place := map[string]key{} // by case
	for _, c := range r.Cases {
		if c.Reason != "" {
			continue
		}
		k := key{c.Provider, c.Ingress}
		if found[k] == nil {
			found[k] = &agentScore{Product: r.Subject.Name, Version: r.Subject.Version, OS: os, Provider: c.Provider, Ingress: c.Ingress,
				Date: r.Started.Format("2006-01-02"), SetDigest: r.Set.Digest, Report: link, Interrupted: r.Interrupted}
		}
		place[c.Name] = k
		found[k].Cases++
		found[k].Seconds += int((c.DurationMS + 500) / 1000)
		if c.Verdict == report.NotTestable {
			found[k].NotTestable++
		}
	}
	for k, score := range found {
		results := slices.DeleteFunc(slices.Clone(r.Results), func(res report.Result) bool {
			at, ok := place[res.Case]
			return !ok || at != k || res.OfSource
		})
		score.Results, score.Bugs = areaScores(results), bugLinks(r, results)
		list = append(list, *score)
	}
	return list
}

// bugLinks are the addresses that the baseline gives for what is known to fail.
func bugLinks(r *report.Run, results []report.Result) (links []string) {
	for _, res := range results {
		if e, ok := r.ExcuseOf(res); ok {
			links = append(links, bugLink(e.Issue))
		}
	}
	slices.Sort(links)
	return slices.Compact(links)
}

var bugPage = regexp.MustCompile(`/docs/(bugs/[A-Za-z0-9._-]+\.md)$`)

// bugLink is the address of an issue, as a scoreboard beside the pages of docs/bugs names it.
func bugLink(issue string) string {
	if m := bugPage.FindStringSubmatch(issue); m != nil {
		return m[1]
	}
	return issue
}

// areaScores sums up the results of one entry. Only what says something counts: a known
// failure without a finding is one of which nothing was seen.
func areaScores(results []report.Result) map[string]areaScore {
	worst := map[string]report.Verdict{} // by requirement
	for _, res := range results {
		if v := res.Verdict; v.IsDecided() && (v != report.KnownFail || len(res.Findings) > 0) {
			worst[res.Requirement] = report.Worst(v, cmp.Or(worst[res.Requirement], v))
		}
	}
	areas := map[string]areaScore{}
	for _, id := range slices.Sorted(maps.Keys(worst)) {
		area, _, _ := strings.Cut(id, "-")
		score := areas[area]
		score.Verdict = report.Worst(worst[id], cmp.Or(score.Verdict, worst[id]))
		switch worst[id] {
		case report.Pass:
			score.Passed = append(score.Passed, id)
		case report.Warn:
			score.Warned = append(score.Warned, id)
		case report.KnownFail:
			score.Known = append(score.Known, id)
		default:
			score.Failed = append(score.Failed, id)
		}
		areas[area] = score
	}
	return areas
}

// writeMarkdown writes the table: a row for each entry, a column for each area. A cell
// names what failed or warned and links to this part of the report; it is empty where nothing was seen.
func (b scoreboard) writeMarkdown(w io.Writer) error {
	var areas []string
	for _, s := range b.Runs {
		areas = append(areas, slices.Collect(maps.Keys(s.Results))...)
	}
	slices.Sort(areas)
	areas = slices.Compact(areas)
	var out strings.Builder
	fmt.Fprintf(&out, "| agent | provider | way in | cases | %s | known bugs |\n|---|---|---|---|%s---|\n", strings.Join(areas, " | "), strings.Repeat("---|", len(areas)))
	for _, s := range b.Runs {
		fmt.Fprintf(&out, "| %s | %s | %s | %s |", report.MarkdownCode(strings.TrimSpace(s.Product+" "+s.Version)), s.Provider, s.Ingress, s.casesCell())
		for _, area := range areas {
			fmt.Fprintf(&out, " %s |", s.areaCell(area))
		}
		fmt.Fprintf(&out, " %s |\n", s.bugsCell())
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// casesCell says how many cases were run, and what they lack.
func (s agentScore) casesCell() string {
	text := strconv.Itoa(s.Cases)
	if s.NotTestable > 0 {
		text += fmt.Sprintf(", %d not testable", s.NotTestable)
	}
	if s.Interrupted {
		text += ", ended early"
	}
	return text
}

// bugsCell links to what is known to fail.
func (s agentScore) bugsCell() string {
	var links []string
	for _, address := range s.Bugs {
		name := strings.TrimSuffix(path.Base(address), ".md")
		links = append(links, "["+report.MarkdownCode(name)+"]("+markdownAddress.Replace(address)+")")
	}
	return strings.Join(links, ", ")
}

// markdownAddress escapes what would end an address in Markdown.
var markdownAddress = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "|", "%7C", "<", "%3C", ">", "%3E", "\n", "%0A")

// areaCell is what the table says of one area.
func (s agentScore) areaCell(area string) string {
	score, ok := s.Results[area]
	if !ok {
		return ""
	}
	var found []string
	for _, list := range []struct {
		verdict report.Verdict
		ids     []string
	}{{report.Fail, score.Failed}, {report.KnownFail, score.Known}, {report.Warn, score.Warned}} {
		if len(list.ids) > 0 {
			found = append(found, string(list.verdict)+" "+strings.Join(list.ids, ", "))
		}
	}
	text := cmp.Or(strings.Join(found, "; "), fmt.Sprintf("%d pass", len(score.Passed)))
	if s.Report == "" {
		return text
	}
	shown := url.Values{"area": {area}, "provider": {s.Provider}, "ingress": {s.Ingress}}
	return "[" + text + "](" + s.Report + "#/matrix?" + shown.Encode() + ")"
}
