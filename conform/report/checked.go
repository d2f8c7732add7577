package report

import (
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// Checked is the report of `conform check`, schema conform.check.v1.
type Checked struct {
	Schema     string      `json:"schema"`
	Tool       Tool        `json:"tool"`
	Recordings []Recording `json:"recordings"`
	// PassedOver lists files found below a directory that are no recordings.
	PassedOver []string `json:"passed_over,omitempty"`
	Summary    Summary  `json:"summary"`
}

// Recording is the result of checking one recording.
type Recording struct {
	Path   string          `json:"path"`
	Format evidence.Format `json:"format,omitempty"`
	// Provider is whose traffic it holds; several are joined with commas.
	Provider  string  `json:"provider,omitempty"`
	Verdict   Verdict `json:"verdict"`
	Exchanges int     `json:"exchanges"`
	// Observed counts the places where some rule could have been broken.
	Observed int             `json:"observed"`
	Findings []Finding       `json:"findings"`
	Skipped  []evidence.Skip `json:"skipped,omitempty"`
	// Reason says why, for a verdict that is not about findings.
	Reason string `json:"reason,omitempty"`

	results   []Result
	notJudged bool // nothing in it could be judged
}

// JudgeRecording holds rec to every rule. A recording shows what it happens to
// show, so a rule that saw nothing does not count against it; a recording in
// which no rule saw anything is not testable.
func JudgeRecording(rules []Rule, rec evidence.Recording) Recording {
	out := Recording{
		Path: rec.Path, Format: rec.Format, Provider: strings.Join(rec.Evidence.Providers(), ","),
		Exchanges: len(rec.Evidence.Exchanges), Findings: []Finding{}, Skipped: rec.Skipped,
	}
	if out.Exchanges == 0 {
		out.Verdict, out.notJudged = NotTestable, true
		out.Reason = "holds no call of a provider conform knows; record Anthropic, OpenAI or Gemini traffic"
		return out
	}
	var seen []Verdict
	for _, res := range Judge(rules, &rec.Evidence) {
		out.addResult(res)
		if res.Verdict != NotTestable && res.Verdict != NotApplicable {
			seen = append(seen, res.Verdict)
		}
	}
	if out.Verdict = Worst(seen...); len(seen) == 0 {
		out.Reason = "shows nothing that any rule speaks of"
	}
	return out
}

func (r *Recording) addResult(res Result) {
	r.results = append(r.results, res)
	r.Observed += res.Observed
	r.Findings = append(r.Findings, res.Findings...)
	if res.Verdict == HarnessError {
		r.Reason = res.Check + ": " + res.Reason
	}
}

// Unreadable is the recording that could not be read. An error that begins with
// the path does not repeat it.
func Unreadable(path string, err error) Recording {
	return Recording{
		Path: path, Verdict: NotTestable, Findings: []Finding{}, notJudged: true,
		Reason: strings.TrimPrefix(err.Error(), path+": "),
	}
}

// reasonWithPath is path and reason in one sentence; a reason about a file inside the
// recording names it already.
func (r Recording) reasonWithPath() string {
	if strings.HasPrefix(r.Reason, r.Path) {
		return r.Reason
	}
	return r.Path + ": " + r.Reason
}

// NewChecked sums up recordings, in the order of their paths.
func NewChecked(tool Tool, recordings []Recording) *Checked {
	c := &Checked{Schema: CheckedSchema, Tool: tool, Recordings: slices.Clone(recordings)}
	slices.SortStableFunc(c.Recordings, func(a, b Recording) int { return strings.Compare(a.Path, b.Path) })
	c.Summary = Summary{Counts: Counts{}, Areas: areaRows(c.relevantResults())}
	var all []Verdict
	for _, r := range c.Recordings {
		c.Summary.Counts[r.Verdict]++
		all = append(all, r.Verdict)
	}
	c.Summary.Verdict = Worst(all...)
	c.Summary.Exit = c.exitCode()
	return c
}

// relevantResults are the results that say something about a requirement: those of the
// recordings that show it, or one that says that none does.
func (c *Checked) relevantResults() []Result {
	seen := map[string]bool{}
	for _, r := range c.Recordings {
		for _, res := range r.results {
			seen[res.Requirement] = seen[res.Requirement] || res.Observed > 0
		}
	}
	var all []Result
	for _, r := range c.Recordings {
		for _, res := range r.results {
			if res.Verdict != NotTestable || !seen[res.Requirement] {
				all = append(all, res)
			}
		}
	}
	return all
}

// exitCode is that of the worst verdict: a recording that could not be read or
// shows nothing makes the check incomplete. If no recording could be judged, it
// is that of wrong usage.
func (c *Checked) exitCode() int {
	judged := slices.ContainsFunc(c.Recordings, func(r Recording) bool { return !r.notJudged })
	if !judged {
		return ExitUsage
	}
	return c.Summary.Verdict.Exit()
}
