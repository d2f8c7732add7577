package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
)

// threadsHead explains the table.
const threadsHead = `# Bug reports as tests

Generated: ` + "`go run ./internal/generate threads`" + `. Each row is a public report of an
agent's bug. [specs/threads](../specs/threads) holds a short recording of the bug, written
for this project from the report and [the wire rules](../specs/wire-rules.md), and the same
conversation without it. A test judges both: the requirement of the row finds the bug, and no
requirement finds anything in its twin. Classes are those of section 8 of the wire rules.

Where a report gives only the provider's refusal, the recording is one way to get it, not
necessarily that agent's. "Address not confirmed": neither a search nor this project's notes
have the report under that number.

`

// threadVerdict is what the referee says of one thread.
type threadVerdict struct {
	thread
	// Failing is the verdict of the named requirement on the bug, Seen whether it counts.
	Failing report.Verdict
	Seen    bool
	// Faults are findings in the twin, and verdicts that prove nothing.
	Faults []string
}

// judgeThreads judges both recordings of every thread.
func judgeThreads(threads []thread) ([]threadVerdict, error) {
	rules, err := report.RulesOf(specs.CurrentSet)
	if err != nil {
		return nil, err
	}
	verdicts := make([]threadVerdict, len(threads))
	for i, t := range threads {
		requirement, err := specs.FindRequirement(t.Requirement)
		if err != nil {
			return nil, err
		}
		failing := evidence.FromExample(requirement, t.asExample(t.Failing))
		passing := evidence.FromExample(requirement, t.asExample(t.Passing))
		verdicts[i] = newThreadVerdict(t, requirement, report.Judge(rules, &failing), report.Judge(rules, &passing))
	}
	return verdicts, nil
}

// newThreadVerdict sums up the results of both recordings. A warning counts only where the
// catalogue says that a breach at this provider is one.
func newThreadVerdict(t thread, r specs.Requirement, failing, passing []report.Result) threadVerdict {
	v := threadVerdict{thread: t, Failing: report.NotTestable}
	for _, result := range failing {
		if result.Requirement == r.ID && isWorse(result.Verdict, v.Failing) {
			consequence := r.ConsequenceAt(specs.Place{Provider: t.Provider, Model: t.Model, Check: result.Check})
			v.Failing = result.Verdict
			v.Seen = v.Failing == report.Fail || v.Failing == report.Warn && !consequence.IsFailure()
		}
	}
	observed := 0
	for _, result := range passing {
		if result.Requirement == r.ID {
			observed += result.Observed
		}
		for _, f := range result.Findings {
			v.Faults = append(v.Faults, fmt.Sprintf("the twin is judged %s by %s: %s", result.Verdict, result.Check,
				f.Message))
		}
		if result.Verdict == report.HarnessError {
			v.Faults = append(v.Faults, fmt.Sprintf("%s: %s", result.Check, result.Reason))
		}
	}
	if observed == 0 && v.Seen {
		v.Faults = append(v.Faults, t.Requirement+" sees nothing to judge in the twin")
	}
	return v
}

// isWorse orders the verdicts that a recording can get.
func isWorse(a, b report.Verdict) bool {
	order := []report.Verdict{report.NotApplicable, report.NotTestable, report.Pass, report.Warn, report.Fail}
	return slices.Index(order, a) > slices.Index(order, b)
}

// writeThreads writes docs/threads.md.
func writeThreads(docs string) error {
	threads, err := readThreads(os.DirFS("specs"))
	if err != nil {
		return err
	}
	verdicts, err := judgeThreads(threads)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(docs, "threads.md"), threadsPage(verdicts), 0o644) //nolint:gosec // is committed
}

// threadsPage is the text of docs/threads.md.
func threadsPage(verdicts []threadVerdict) []byte {
	out := bytes.NewBufferString(threadsHead)
	seen := 0
	for _, v := range verdicts {
		if v.Seen {
			seen++
		}
	}
	fmt.Fprintf(out, "%d threads, %d seen.\n", len(verdicts), seen)
	file := ""
	for _, v := range verdicts {
		if v.File != file {
			file = v.File
			fmt.Fprintf(out,
				"\n## %s\n\n| thread | what the agent did | class | provider | requirement | verdict |\n|---|---|---|---|---|---|\n",
				strings.TrimSuffix(filepath.Base(file), ".yaml"))
		}
		verdict := string(v.Failing)
		if !v.Seen {
			verdict = "not seen: " + v.Unseen
		}
		link := fmt.Sprintf("[%s](%s)", v.Name(), v.URL)
		if v.Unconfirmed {
			link += ", address not confirmed"
		}
		cells := []string{link, v.Title, v.Class, v.Provider, v.Requirement, verdict}
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(strings.Join(strings.Fields(c), " "), "|", `\|`)
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
	}
	return out.Bytes()
}
