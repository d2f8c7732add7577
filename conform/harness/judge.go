package harness

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/specs"
)

// Judge returns the verdicts of all rules that apply to a run, by check id. A
// check that saw nothing is left out, unless the scenario was written to show its
// requirement: then it is not testable, which is not a success.
//
// A run that deviated from the scenario proves less than it seems to. If a
// finding explains the deviation, the other requirements that the scenario covers
// are not testable. If no finding does, the first of them fails with the
// deviation as its finding.
func Judge(run CaseRun, rules []report.Rule) map[string]report.Result {
	results, _ := judgeCalls(run, rules, true)
	return results
}

// ownRules are requirements and checks that hold rkat to decisions of this project. Other
// agents may ask any model, for example a small one for titles, and let OpenAI keep their
// responses.
var ownRules = []string{"MOD-001", "MOD-003", "SIG-012/stateless"}

// judgeCalls is Judge, and counts the calls of the agent. An agent that does not hold
// all is not held to what the scenario was written to show.
func judgeCalls(run CaseRun, rules []report.Rule, holdsAll bool) (map[string]report.Result, report.Calls) {
	isScripted := run.Source != evidence.SourceLive
	j := judgement{run: run, holdsAll: holdsAll, holdsShown: holdsAll && isScripted,
		results: map[string]report.Result{}}
	for _, rule := range rules {
		if !holdsAll && (slices.Contains(ownRules, rule.Requirement.ID) || slices.Contains(ownRules, rule.Check.ID)) {
			continue
		}
		if rule.Requirement.AppliesTo(run.Case.Target.Provider, string(run.Source)) {
			j.rules = append(j.rules, rule)
		}
	}
	var trace *check.Trace
	if run.Err == nil {
		trace = check.Decode(run.Evidence)
		j.calls = report.Calls{Made: trace.Calls(), Accepted: trace.AcceptedCalls()}
		j.calls.Thinking, j.calls.Plain = trace.ThinkingCalls()
		j.run.Err = j.replyFault(trace)
	}
	if j.run.Err != nil {
		// A fault of ours is never silent: each rule that the case was written to show gets it, or the
		// first of all.
		broken := slices.DeleteFunc(slices.Clone(j.rules), func(rule report.Rule) bool { return !j.covers(rule) })
		if len(broken) == 0 {
			broken = j.rules[:min(1, len(j.rules))]
		}
		for _, rule := range broken {
			j.decide(rule, rule.NewResult(j.run.Name), decide.Facts{Fault: j.run.Err.Error()})
		}
		return j.results, j.calls
	}
	j.applyRules(trace)
	j.judgeSource(trace)
	switch {
	case run.Shortfall != "":
		j.takeBack(run.Shortfall)
	case len(run.Deviations) > 0:
		j.takeBack("the case did not go as scripted: " + strings.Join(run.Deviations, "; "))
	}
	return j.results, j.calls
}

type judgement struct {
	calls    report.Calls
	run      CaseRun
	holdsAll bool
	// holdsShown says that what the scenario was written to show must be seen.
	holdsShown bool
	rules      []report.Rule
	results    map[string]report.Result
}

func (j *judgement) covers(rule report.Rule) bool { return j.run.Case.covers(rule.Requirement.ID) }

// withRun returns r with what is known about the run.
func (j *judgement) withRun(r report.Result) report.Result {
	r.Provider = j.run.Case.Target.Provider
	r.Evidence = j.run.Cassette
	r.DurationMS = j.run.Took.Milliseconds()
	return r
}

// replyFault names the reply of ours that breaks its provider's schema. An agent that
// was answered wrongly cannot be judged.
func (j *judgement) replyFault(trace *check.Trace) error {
	broken := trace.BrokenReply()
	if broken == "" || j.run.Case.Scenario.HasGrease() {
		return nil // no schema knows what the scenario adds to be ignored
	}
	who := "the simulator"
	if j.run.Source == evidence.SourceLive {
		return nil // what a provider answers is its own affair
	}
	if j.run.Cassette != "" {
		who = "cassettes/" + j.run.Cassette
	}
	return fmt.Errorf("%s: %s; this is a fault of conform and not of the agent, please report it", who, broken)
}

// decide keeps a result with the verdict that facts lead to.
func (j *judgement) decide(rule report.Rule, r report.Result, f decide.Facts) {
	f.Findings, f.Observed = r.Findings, r.Observed
	r.Verdict, r.Reason = decide.Decide(f)
	j.results[rule.Check.ID] = j.withRun(r)
}

// applyRules runs every check and keeps the results that say something.
func (j *judgement) applyRules(trace *check.Trace) {
	shown := map[string]bool{} // requirements of which anything was seen
	for i, r := range report.JudgeTrace(j.rules, trace) {
		rule, r := j.rules[i], j.withRun(r)
		// A broken stream of the simulator is what the scenario ordered. It says nothing about an agent that runs all.
		if rule.Check.Source && j.run.Source == evidence.SourceSimulator && !j.holdsAll && len(r.Findings) > 0 {
			continue
		}
		j.results[rule.Check.ID] = r
		shown[rule.Requirement.ID] = shown[rule.Requirement.ID] || r.Observed > 0 || len(r.Findings) > 0
	}
	for _, rule := range j.rules {
		verdict := j.results[rule.Check.ID].Verdict
		sawNothing := verdict == report.NotTestable || verdict == report.NotApplicable
		if sawNothing && (shown[rule.Requirement.ID] || !j.covers(rule) || !j.holdsShown) {
			delete(j.results, rule.Check.ID)
		}
	}
}

// sourceRules are those by which the replies of a provider itself are judged beside the agent: the duties for which no
// requirement of the catalogue stands.
func sourceRules(source evidence.Source) []report.Rule {
	if source != evidence.SourceLive {
		return nil
	}
	return report.SourceRules()
}

// judgeSource keeps what the provider's replies break, in the words of conform server.
func (j *judgement) judgeSource(trace *check.Trace) {
	rules := sourceRules(j.run.Source)
	for i, r := range report.JudgeTrace(rules, trace) {
		if len(r.Findings) > 0 {
			j.results[rules[i].Check.ID] = j.withRun(r)
		}
	}
}

// takeBack decides anew what a run that fell short, or deviated, cannot prove. The deviation
// itself is a failure of an agent that holds all, and says nothing of what it was not to show.
// Of another agent it shows only that the case does not fit: nothing passes then. If nothing did
// and nothing was found, the first requirement of the scenario says so, because no case may vanish.
func (j *judgement) takeBack(why string) {
	isFault := j.holdsAll && j.run.Shortfall == ""
	failing := ""
	if isFault {
		failing = j.attribute()
	}
	facts := decide.Facts{Unproven: why, Unseen: why}
	for _, rule := range j.rules {
		r, isJudged := j.results[rule.Check.ID]
		hasPassed := r.Verdict == report.Pass
		isVoid := hasPassed || r.Verdict == report.NotTestable
		switch {
		case !isJudged || len(r.Findings) > 0 || isFault && !j.covers(rule) || !isFault && !isVoid:
		case j.run.Shortfall != "" && hasPassed && !j.covers(rule), !isFault && j.run.NotApplicable != "":
			delete(j.results, rule.Check.ID) // one reason need not be repeated for all that passed
		case rule.Check.ID == failing:
			r.Findings = []report.Finding{j.deviationFinding(rule, why)}
			j.decide(rule, r, decide.Facts{})
		case hasPassed || isFault:
			j.decide(rule, r, facts)
		}
	}
	for _, rule := range j.rules {
		if len(j.results) == 0 && j.covers(rule) && !isFault && j.run.NotApplicable == "" {
			j.decide(rule, rule.NewResult(j.run.Name), facts)
		}
	}
}

// attribute returns the check that fails for a deviation which no finding
// explains: one of the first requirement with failures that the scenario covers. It returns "" when a
// finding explains the deviation.
func (j *judgement) attribute() string {
	for _, r := range j.results {
		if len(r.Findings) > 0 {
			return ""
		}
	}
	for _, id := range j.run.Case.Scenario.Requirements {
		for _, rule := range j.rules {
			if _, judged := j.results[rule.Check.ID]; judged && rule.Requirement.ID == id &&
				rule.Requirement.Consequence.IsFailure() {
				return rule.Check.ID
			}
		}
	}
	return ""
}

// deviationFinding points at the exchange that had no answer, if there is one.
func (j *judgement) deviationFinding(rule report.Rule, why string) report.Finding {
	f := check.Finding{
		Check: rule.Check.ID, Exchange: -1, Event: -1, Offset: -1, Message: why,
		Fix: "Compare the request with the recorded one; if the change is meant, record again with: make cassettes",
	}
	switch j.run.Source {
	case evidence.SourceLive:
		f.Fix = "Read what the provider answered; --record keeps the traffic, and recorder inspect shows it"
	case evidence.SourceSimulator:
		f.Fix = "Read what the simulator said of the request, and what docs/simulator-rules.md says of it"
	default:
	}
	for _, x := range j.run.Evidence.Exchanges {
		if x.Missed {
			f.Exchange = decide.Ordinal(x.Index)
			break
		}
	}
	return rule.NewFinding(f, specs.Place{Provider: j.run.Case.Target.Provider, Model: j.run.Case.Target.Model})
}

// clearRoom removes the room and returns what the agent did beside its conversation.
// No process of it runs any more.
func (r Room) clearRoom() []string {
	var effects []string
	if r.Sandbox != nil {
		did := r.Sandbox.Close()
		if did.Killed > 0 {
			effects = append(effects, fmt.Sprintf("left %s behind, which the harness ended",
				countOf(did.Killed, "process", "processes")))
		}
		if did.Truncated > 0 {
			effects = append(effects, fmt.Sprintf("wrote more than is kept of the output: %s",
				countOf(did.Truncated, "process", "processes")))
		}
	}
	dir := filepath.Dir(r.Home)
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if !slices.Contains([]string{r.Home, r.Work, r.Temp, r.Tools.Log}, path) {
			effects = append(effects, fmt.Sprintf("wrote outside its folders: %q", entry.Name()))
		}
	}
	removeFolder(dir)
	if len(effects) > maxEffects {
		effects = append(effects[:maxEffects], fmt.Sprintf("and %d more", len(effects)-maxEffects))
	}
	return effects
}

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// maxEffects bounds how many effects of a case are listed.
const maxEffects = 20

// removeFolder removes a folder, also when the agent took the right to write from
// folders in it.
func removeFolder(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder that is removed next
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// MaxLine bounds a line of the agent in a message, in bytes.
const MaxLine = 300

// TellingLine is the last line of what an agent wrote that speaks of an error, else the
// last one that says something, for people to read.
func TellingLine(text string) (last string) {
	for line := range strings.Lines(text) {
		if line = PrintableLine(line, MaxLine); !strings.ContainsFunc(line, unicode.IsLetter) ||
			noise.MatchString(line) {
			continue
		}
		if speaksOfError(line) || !speaksOfError(last) {
			last = line
		}
	}
	return last
}

func speaksOfError(line string) bool {
	return errorWords.MatchString(line) && !goesOn.MatchString(line) && !oneName.MatchString(line)
}

// said is ": " and the telling line of what a process wrote, or "".
func said(stderr []byte) string {
	line := TellingLine(string(stderr))
	if line == "" {
		return ""
	}
	return ": " + line
}

var (
	errorWords = regexp.MustCompile(`(?i)\b[a-z]*(error|exception)\b|\b(failed|cannot|could not|must|required|invalid|deprecated|unsupported|refused|denied)\b|^[45]\d\d `)
	// goesOn matches lines whose words stand in the next ones.
	goesOn = regexp.MustCompile(`[\[{(:]$`)
	// oneName matches members of a printed error that hold a name or an object, and no words.
	oneName = regexp.MustCompile(`^['"]?[\w~@/.-]+['"]?: (\{.*\}|['"][^\s'"]*['"]),?$`)
	// noise matches lines of a trace that say nothing about its cause.
	noise = regexp.MustCompile(`^(Node\.js v[0-9.]+|at .*|--- End of .*|\[Symbol\(.*)$`)
)

// PrintableLine is a line without keys and without what would steer a terminal, cut to a
// number of bytes.
func PrintableLine(line string, most int) string {
	// A key that is cut in two is not recognised: the first cut is far behind the second.
	line = gate.Mask(line[:min(len(line), 20*most)])
	line = escapeSequence.ReplaceAllString(line, "")
	line = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) { // nor what has no width, or turns the direction of writing
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, "?"))
	line = strings.TrimSpace(line)
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// escapeSequence finds what colours text in a terminal.
var escapeSequence = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// noTraffic answers in cases that must not cause any traffic: it refuses every
// request and keeps it as evidence.
type noTraffic struct {
	capture  *capture
	redactor *redact.Redactor
}

var errNoTraffic = errors.New("this case must not cause any traffic")

// ServeHTTP refuses one request in the provider's words.
func (n noTraffic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	contentType, refusal := llm.ErrorBody(n.capture.Case.Target.Provider, http.StatusBadRequest, errNoTraffic.Error())
	header := r.Header.Clone()
	body = record.DecompressRequest(header, body)
	n.capture.observe(n.redactor.Interaction(cassette.Interaction{
		Request: cassette.Request{Method: r.Method, URL: r.URL.String(), Proto: r.Proto, Header: header, Body: body},
		Response: cassette.Response{Status: http.StatusBadRequest, Proto: r.Proto, Body: refusal,
			Header: http.Header{"Content-Type": {contentType}}},
		End: cassette.EndEOF,
	}), true)
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(refusal)
}
