package recorder

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// replayHandler handles one cassette in replay mode.
type replayHandler struct {
	*replay.Replayer
	path    string
	receipt string
	gates   gates
	scrubs  replay.Scrubs
}

func (k *modeEnv) openReplay(path, receipt string) (*replayHandler, error) {
	recording, err := cassette.Open(path)
	if errors.Is(err, cassette.ErrEmpty) {
		return nil, cli.Fail(ExitGate, "%w", err)
	}
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	if why := StaleReason(recording.Meta(), k.flags.maxAge, time.Now()); why != "" {
		return nil, cli.Fail(ExitGate, "%s: %s", path, why)
	}
	if err := os.MkdirAll(filepath.Dir(receipt), 0o755); err != nil { //nolint:gosec // its files are 0600
		return nil, cli.Usage("--receipt %s: cannot be written: %w", receipt, fileutil.Reason(err))
	}
	k.SayLoss(recording)
	k.sayTimes(recording)
	replayer, err := k.newReplayer(recording, nil)
	if err != nil {
		return nil, err
	}
	return &replayHandler{replayer, path, receipt, gates{k.flags.allowUnused, k.flags.strict}, k.scrubs}, nil
}

// sayTimes notes where --speed asks for recorded times and the times of the cassette are nominal.
func (k *modeEnv) sayTimes(recording *cassette.Cassette) {
	if k.flags.speed > 0 && recording.Meta().Nominal() {
		k.Note("%s: its times are nominal and were not measured", recording.Name())
	}
}

func (r *replayHandler) finishRecording(a *app, _ bool) outcome {
	got := r.Receipt()
	a.Note("%s: %s", r.path, got.Summary())
	out := outcome{served: got.Served, missed: got.Missed, unused: got.Unused}
	if a.isolated {
		a.Note("%s: nothing left the machine: the program could reach the recorder only", r.path)
	}
	a.SayList("relaxed", relaxedAnswers(got, r.gates.strict || a.Verbose))
	got.UnmatchedRules = a.sayUnmatched(r.path, r.scrubs, got.Relaxed)
	for _, sentence := range r.gates.failedGates(got, a.nothingAskedReason()) {
		a.Say("%s: %s", r.path, sentence)
		out.exit = ExitGate
	}
	if err := writeReceipt(r.receipt, a.completeReceipt(got)); err != nil {
		a.Say("%s: cannot be written: %v", r.receipt, fileutil.Reason(err))
		out.exit = ExitInternal
	}
	return out
}

func (r *replayHandler) discardStart() {}

// completeReceipt adds to a receipt what the replayer does not know.
func (a *app) completeReceipt(got replay.Receipt) replay.Receipt {
	got.Tool, got.Refused = "recorder "+cli.Version(), a.refused
	got.Isolated, got.Bypassed = a.isolated, a.bypasses(got)
	got.Libraries = cli.ModuleVersions("github.com/elazarl/goproxy", "github.com/dnaeon/go-vcr/v2")
	return got
}

// writeReceipt writes a receipt to path, if that is not "".
func writeReceipt(path string, got replay.Receipt) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		return err
	}
	return fileutil.WriteFile(path, append(data, '\n'), 0o600)
}

// nothingAsked is the reason why a run without any request fails: a program that goes around the
// proxy would pass every other gate.
const nothingAsked = "nothing was asked for: the program made no request, or went past the recorder. With --ingress mitm it has to use HTTPS_PROXY, " +
	"which Node before 22.21, Java, Ruby's net/http, PHP's streams and Erlang do not, with base-url the variables of base URLs; recorder doctor -- CMD tells what is the matter"

// nothingAskedReason returns why nothing was asked for. Why the proxy turned attempts away was
// printed before.
func (a *app) nothingAskedReason() string {
	if n := int(a.turnedAway.Load()); n > 0 {
		return "nothing was asked for: " + cli.Count(n, "attempt was", "attempts were") +
			" turned away, as said above; recorder doctor -- CMD tells more"
	}
	if a.programExit != 0 {
		return fmt.Sprintf("nothing was asked for: %s ended with exit code %d before it made a request, or went past the recorder; try the other --ingress, mitm or base-url; recorder doctor -- CMD tells what is the matter", a.program, a.programExit)
	}
	return nothingAsked
}

// gates are the flags for when a replay fails in which every request had an answer.
type gates struct{ allowUnused, strict bool }

// failedGates returns why a replay failed, none when it passed. unasked is the reason for a replay
// without any request.
func (g gates) failedGates(got replay.Receipt, unasked string) (failed []string) {
	if got.Served+got.Missed+got.Struck == 0 {
		return []string{unasked}
	}
	if got.Damaged > 0 {
		failed = append(failed,
			fmt.Sprintf("%s a damaged interaction; restore the cassette from a copy, or record everything afresh with --mode refresh",
				cli.Count(got.Damaged, "request met", "requests met")))
	}
	if got.TooLong > 0 {
		failed = append(failed, fmt.Sprintf("%s longer than is read; if that is meant, give a greater --max-body",
			cli.Count(got.TooLong, "request was", "requests were")))
	}
	if unknown := got.Missed - got.Damaged - got.TooLong; unknown > 0 {
		failed = append(failed,
			fmt.Sprintf("%s no recorded answer; if that is meant, record what is missing with --mode record-missing, "+
				"or everything afresh with --mode refresh", cli.Count(unknown, "request has", "requests have")))
	}
	if got.Unused > 0 && !g.allowUnused {
		failed = append(failed,
			fmt.Sprintf("%s never asked for; if that is meant, record afresh with --mode refresh, or say --allow-unused",
				cli.Count(got.Unused, "interaction was", "interactions were")))
	}
	if got.RelaxedRequests > 0 && g.strict {
		failed = append(failed, fmt.Sprintf("%s not to the recorded request, and --strict allows none of that; "+
			"record afresh with --mode refresh, or leave --strict out",
			cli.Count(got.RelaxedRequests, "answer was", "answers were")))
	}
	return append(failed, got.FaultsIdle...)
}

// leavesMemberOut reports whether a rule is a path without a pattern. It leaves out a whole member,
// in which the question may stand.
func leavesMemberOut(rule string) bool {
	return strings.HasPrefix(rule, "$") && !strings.HasSuffix(rule, "/")
}

// relaxedAnswers describes the answers that needed a looser level or a rule that leaves out a whole
// member. With all it also describes those that needed other rules only.
func relaxedAnswers(got replay.Receipt, all bool) (lines []string) {
	for _, r := range got.RelaxedAnswers {
		if r.Level == replay.Exact.String() && !all && !slices.ContainsFunc(r.Rules, leavesMemberOut) {
			continue
		}
		line := fmt.Sprintf("interaction %d answered %s %s at %s", r.Interaction, r.Method, r.URL, r.Level)
		if len(r.Differences) > 0 {
			line += "; " + r.Differences[0]
		}
		if more := len(r.Differences) - 1; more > 0 {
			line += fmt.Sprintf("; and %d more", more)
		}
		lines = append(lines, line)
	}
	return lines
}

// scrubRules reads --scrub.
func (f *modeFlags) scrubRules() (rules replay.Scrubs, err error) {
	for _, text := range f.scrub {
		r, err := replay.ParseScrub(text)
		if err != nil {
			return nil, cli.Usage("--scrub %s: %w", text, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// sayUnmatched names the given paths and patterns that match no request of the cassette path, and
// returns them: they may be misspelt. used are the rules that a replay needed. When there is no
// cassette, because nothing was recorded, nothing is matched.
func (a *app) sayUnmatched(path string, given replay.Scrubs, used map[string]int) (unmatched []string) {
	given = slices.DeleteFunc(slices.Clone(given),
		func(r replay.Scrub) bool { return !r.IsOwn() || used[r.String()] > 0 })
	if len(given) == 0 {
		return nil
	}
	what := "matched nothing"
	recording, err := cassette.Open(path)
	if err == nil {
		what, unmatched = "matches nothing in "+path, replay.UnmatchedScrubs(recording, given)
	} else {
		for _, rule := range given {
			unmatched = append(unmatched, rule.String())
		}
	}
	for _, rule := range unmatched {
		a.Say("scrub rule %s: %s; check its spelling, or remove it", rule, what)
	}
	return unmatched
}

// placeToNote returns what each interaction notes of the place where the program runs: what the
// rules need, and those of the cassette old, which may be nil. With --learn it is everything,
// because any of it may become a rule.
func (k *modeEnv) placeToNote(old *cassette.Cassette) replay.Place {
	if k.flags.learn {
		return k.here
	}
	rules := k.scrubs
	if old != nil {
		more, err := replay.ScrubsOf(old)
		if err == nil { // the replayer refuses it otherwise
			rules = append(rules, more...)
		}
	}
	return k.here.Only(rules)
}
