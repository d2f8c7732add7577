package report

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
)

// ScoreboardSchema is the name of the format of a [Scoreboard].
const ScoreboardSchema = "conform.scoreboard.v1"

// Scoreboard is what is known of several agents: one entry for each agent, provider
// and way in. It is plain data.
type Scoreboard struct {
	Schema string  `json:"schema"`
	Runs   []Score `json:"runs"`
}

// Score is what one agent did with one provider by one way in.
type Score struct {
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
	Results map[string]AreaScore `json:"results"`
}

// AreaScore is what was found in one area.
type AreaScore struct {
	Verdict Verdict `json:"verdict"`
	// Requirements that failed, are known to fail, warned and passed, each list in order.
	Failed []string `json:"failed,omitempty"`
	Known  []string `json:"known,omitempty"`
	Warned []string `json:"warned,omitempty"`
	Passed []string `json:"passed,omitempty"`
}

// NewScoreboard makes the scoreboard of runs on an operating system. link returns where
// the report of a run is kept.
func NewScoreboard(runs []*Run, os string, link func(*Run) string) Scoreboard {
	board := Scoreboard{Schema: ScoreboardSchema, Runs: []Score{}}
	for _, r := range runs {
		board.Runs = append(board.Runs, r.runScores(os, link(r))...)
	}
	slices.SortStableFunc(board.Runs, func(a, b Score) int {
		return cmp.Or(cmp.Compare(a.Product, b.Product), cmp.Compare(a.Provider, b.Provider), cmp.Compare(b.Ingress, a.Ingress))
	})
	return board
}

// runScores are the entries of one run. What was not run has none.
func (r *Run) runScores(os, link string) (list []Score) {
	type key struct{ provider, ingress string }
	found := map[key]*Score{}
	place := map[string]key{} // by case
	for _, c := range r.Cases {
		if c.Reason != "" {
			continue
		}
		k := key{c.Provider, c.Ingress}
		if found[k] == nil {
			found[k] = &Score{Product: r.Subject.Name, Version: r.Subject.Version, OS: os, Provider: c.Provider, Ingress: c.Ingress,
				Date: r.Started.Format("2006-01-02"), SetDigest: r.Set.Digest, Report: link, Interrupted: r.Interrupted}
		}
		place[c.Name] = k
		found[k].Cases++
		found[k].Seconds += int((c.DurationMS + 500) / 1000)
		if c.Verdict == NotTestable {
			found[k].NotTestable++
		}
	}
	for k, score := range found {
		results := slices.DeleteFunc(slices.Clone(r.Results), func(res Result) bool {
			at, ok := place[res.Case]
			return !ok || at != k || res.OfSource
		})
		score.Results, score.Bugs = areaScores(results), r.bugLinks(results)
		list = append(list, *score)
	}
	return list
}

// bugLinks are the addresses that the baseline gives for what is known to fail.
func (r *Run) bugLinks(results []Result) (links []string) {
	for _, res := range results {
		if e, ok := r.excuseOf(res); ok {
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
func areaScores(results []Result) map[string]AreaScore {
	worst := map[string]Verdict{} // by requirement
	for _, res := range results {
		if v := res.Verdict; v.isDecided() && (v != KnownFail || len(res.Findings) > 0) {
			worst[res.Requirement] = Worst(v, cmp.Or(worst[res.Requirement], v))
		}
	}
	areas := map[string]AreaScore{}
	for _, id := range slices.Sorted(maps.Keys(worst)) {
		area, _, _ := strings.Cut(id, "-")
		score := areas[area]
		score.Verdict = Worst(worst[id], cmp.Or(score.Verdict, worst[id]))
		switch worst[id] {
		case Pass:
			score.Passed = append(score.Passed, id)
		case Warn:
			score.Warned = append(score.Warned, id)
		case KnownFail:
			score.Known = append(score.Known, id)
		default:
			score.Failed = append(score.Failed, id)
		}
		areas[area] = score
	}
	return areas
}

// WriteMarkdown writes the table: a row for each entry, a column for each area. A cell
// names what failed or warned and links to this part of the report; it is empty where nothing was seen.
func (b Scoreboard) WriteMarkdown(w io.Writer) error {
	var areas []string
	for _, s := range b.Runs {
		areas = append(areas, slices.Collect(maps.Keys(s.Results))...)
	}
	slices.Sort(areas)
	areas = slices.Compact(areas)
	var out strings.Builder
	fmt.Fprintf(&out, "| agent | provider | way in | cases | %s | known bugs |\n|---|---|---|---|%s---|\n", strings.Join(areas, " | "), strings.Repeat("---|", len(areas)))
	for _, s := range b.Runs {
		fmt.Fprintf(&out, "| %s | %s | %s | %s |", markdownCode(strings.TrimSpace(s.Product+" "+s.Version)), s.Provider, s.Ingress, s.casesCell())
		for _, area := range areas {
			fmt.Fprintf(&out, " %s |", s.areaCell(area))
		}
		fmt.Fprintf(&out, " %s |\n", s.bugsCell())
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// casesCell says how many cases were run, and what they lack.
func (s Score) casesCell() string {
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
func (s Score) bugsCell() string {
	var links []string
	for _, address := range s.Bugs {
		name := strings.TrimSuffix(path.Base(address), ".md")
		links = append(links, "["+markdownCode(name)+"]("+markdownAddress.Replace(address)+")")
	}
	return strings.Join(links, ", ")
}

// markdownAddress escapes what would end an address in Markdown.
var markdownAddress = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "|", "%7C", "<", "%3C", ">", "%3E", "\n", "%0A")

// areaCell is what the table says of one area.
func (s Score) areaCell(area string) string {
	score, ok := s.Results[area]
	if !ok {
		return ""
	}
	var found []string
	for _, list := range []struct {
		verdict Verdict
		ids     []string
	}{{Fail, score.Failed}, {KnownFail, score.Known}, {Warn, score.Warned}} {
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
