package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
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
	// Cases counts the cases that were played.
	Cases int `json:"cases"`
	// Seconds is how long they took, one after the other.
	Seconds int `json:"seconds"`
	// Results are by area. An area of which nothing was seen is missing.
	Results map[string]AreaScore `json:"results"`
}

// AreaScore is what was found in one area.
type AreaScore struct {
	Verdict Verdict `json:"verdict"`
	// Requirements that failed, warned and passed, each list in order.
	Failed []string `json:"failed,omitempty"`
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

// runScores are the entries of one run. What was not played has none.
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
				Date: r.Started.Format("2006-01-02"), SetDigest: r.Set.Digest, Report: link}
		}
		place[c.Name] = k
		found[k].Cases++
		found[k].Seconds += int((c.DurationMS + 500) / 1000)
	}
	for k, score := range found {
		score.Results = areaScores(slices.DeleteFunc(slices.Clone(r.Results), func(res Result) bool {
			at, ok := place[res.Case]
			return !ok || at != k || res.OfSource
		}))
		list = append(list, *score)
	}
	return list
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
		default:
			score.Failed = append(score.Failed, id)
		}
		areas[area] = score
	}
	return areas
}

// WriteMarkdown writes the table: a row for each entry, a column for each area. A cell
// names what failed or warned and links to the report; it is empty where nothing was seen.
func (b Scoreboard) WriteMarkdown(w io.Writer) error {
	var areas []string
	for _, s := range b.Runs {
		areas = append(areas, slices.Collect(maps.Keys(s.Results))...)
	}
	slices.Sort(areas)
	areas = slices.Compact(areas)
	var out strings.Builder
	fmt.Fprintf(&out, "| agent | provider | way in | cases | %s |\n|---|---|---|--:|%s\n", strings.Join(areas, " | "), strings.Repeat("---|", len(areas)))
	for _, s := range b.Runs {
		fmt.Fprintf(&out, "| %s | %s | %s | %d |", markdownCode(strings.TrimSpace(s.Product+" "+s.Version)), s.Provider, s.Ingress, s.Cases)
		for _, area := range areas {
			fmt.Fprintf(&out, " %s |", s.areaCell(area))
		}
		out.WriteString("\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// areaCell is what the table says of one area.
func (s Score) areaCell(area string) string {
	score, ok := s.Results[area]
	if !ok {
		return ""
	}
	var found []string
	if len(score.Failed) > 0 {
		worst := score.Verdict
		if worst == Warn { // ranks above what is known to fail
			worst = KnownFail
		}
		found = append(found, string(worst)+" "+strings.Join(score.Failed, ", "))
	}
	if len(score.Warned) > 0 {
		found = append(found, string(Warn)+" "+strings.Join(score.Warned, ", "))
	}
	text := cmp.Or(strings.Join(found, "; "), fmt.Sprintf("%d pass", len(score.Passed)))
	if s.Report == "" {
		return text
	}
	return "[" + text + "](" + s.Report + ")"
}
