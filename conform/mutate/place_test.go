package mutate

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/tree"
)

// What a check counts as observed can be broken there: in 99 of 100 places of a seed.
func TestBreakPlaces(t *testing.T) {
	const seed = 20779
	places := 50
	if corpus.Whole() {
		places = 200
	}
	got := BreakPlaces(t.Context(), samples(t), rules(t), seed, places)
	if got.Sampled != places || got.Broken < places*99/100 || got.Broken+got.BeyondReach != places {
		t.Errorf("%d sampled, %d broken, %d beyond reach", got.Sampled, got.Broken, got.BeyondReach)
	}
	for _, f := range got.Faults {
		t.Errorf("seed %d: %s", seed, f)
	}
}

// A check that counts places where nothing can go wrong is noticed.
func TestBreakPlacesNotices(t *testing.T) {
	// A place that nothing breaks is tried with every change of every exchange: one loop is enough.
	good := samples(t)
	two := slices.IndexFunc(good, func(ev evidence.Evidence) bool { return len(ev.Exchanges) == 2 })
	rs := with(slices.Clone(rules(t)), "ORD-001/answered",
		func(run func(*check.Trace) check.Result) func(*check.Trace) check.Result {
			return func(tr *check.Trace) check.Result { return check.Result{Observed: run(tr).Observed} }
		})
	one := slices.IndexFunc(rs, func(r report.Rule) bool { return r.Check.ID == "ORD-001/answered" })
	got := BreakPlaces(t.Context(), good[two:two+1], rs[one:one+1], 1, 1)
	if got.Sampled != 1 || got.Broken > 0 ||
		!strings.HasPrefix(got.Faults[0], "ORD-001/answered: observes exchange ") {
		t.Errorf("%+v", got)
	}
}

func TestSampledPlacesDependOnTheSeed(t *testing.T) {
	good, rs := samples(t)[:2], rules(t)[:6]
	first, again := BreakPlaces(t.Context(), good, rs, 7, 5), BreakPlaces(t.Context(), good, rs, 7, 5)
	if first.Sampled != again.Sampled || first.Broken != again.Broken {
		t.Errorf("%+v, then %+v", first, again)
	}
}

// A case that is added leaves the sample of the other cases as it was, but for the places that the sample gives up to
// the new case: who adds evidence is not told of faults of others.
func TestSampledPlacesStay(t *testing.T) {
	good, rs := samples(t)[:4], rules(t)[:30]
	chosen := func(good []evidence.Evidence) (names []string) {
		for _, p := range observedPlaces(good, rs, 7)[:20] {
			names = append(names, fmt.Sprint(p.rule.Check.ID, p.ev.Case, p.x))
		}
		return names
	}
	before, after := chosen(good[1:]), chosen(good)
	for _, name := range after {
		if !slices.Contains(before, name) && !strings.Contains(name, good[0].Case) {
			t.Errorf("%s came into the sample: %q, before %q", name, after, before)
		}
	}
}

// Every change of a body changes one thing and leaves JSON behind; what is given to it
// stays as it was.
func TestBodyChanges(t *testing.T) {
	const body = `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image","source":{"data":"aGk="}}]},{"role":"assistant","content":[{"type":"text","text":"ho"}]}],"n":1,"b":true,"z":null}`
	given := []byte(body)
	seen := map[string]bool{}
	for _, change := range bodyChanges(given) {
		got := change()
		if _, err := tree.Parse(got); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		if again := change(); !bytes.Equal(got, again) {
			t.Fatalf("%s, then %s", got, again)
		}
		seen[string(got)] = true
	}
	if string(given) != body {
		t.Error("the body was changed")
	}
	for _, want := range []string{
		`"model":"mx"`, `"messages":[{"role":"user","content":"Begin again."}]`, `"messages":[]`, `"n":7`, `"b":false`,
		`"z":true`, `"data":"aGk=…"`, `"model":0`, `{"no_such_member":1,"model"`,
		`"role":"assistant","content":[{"type":"text","text":"hi"},{"type":"image","source":{"data":"aGk="}}]},{"role":"assistant"`,
		`"text":"ho"},{"type":"text","text":"hi"}]`,
	} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(seen)),
			func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no change makes %s", want)
		}
	}
	for _, broken := range []string{"", "[", "prose"} {
		if list := bodyChanges([]byte(broken)); len(list) > 0 {
			t.Errorf("%q: %d changes", broken, len(list))
		}
	}
}

func TestReplyChanges(t *testing.T) {
	for name, body := range map[string]string{
		"events":      "event: a\ndata: {\"x\":1}\n\nevent: b\ndata: {\"y\":2}\n\n",
		"with CRLF":   "data: {\"x\":1}\r\n\r\ndata: {\"y\":2}\r\n\r\n",
		"a document":  `{"x":1}`,
		"no JSON":     "event: a\n\n",
		"cut in half": "event: a\ndata: {\"x\"",
	} {
		if !slices.ContainsFunc(replyChanges([]byte(body)),
			func(change func() []byte) bool { return string(change()) != body }) {
			t.Errorf("%s: no change changes it", name)
		}
	}
	got := replyChanges([]byte("data: {\"x\":1}\r\n\r\ndata: {\"y\":2}\r\n\r\n"))
	if !slices.ContainsFunc(got,
		func(f func() []byte) bool { return string(f()) == "data: {\"y\":2}\r\n\r\ndata: {\"x\":1}\r\n\r\n" }) {
		t.Error("events are not exchanged")
	}
	if !slices.ContainsFunc(got,
		func(f func() []byte) bool { return string(f()) == "data: {\"x\":1}\r\n\r\ndata: {\"y\":1}\r\n\r\n" }) {
		t.Error("the data of an event is not changed")
	}
}

// Removing what one check finds turns the self-test red, whichever check it is.
func TestEveryCheckIsMissed(t *testing.T) {
	good, chosen := samples(t), corpus.Sample(t, 4)
	for _, group := range byRequirement(rules(t)) {
		if !chosen() {
			continue
		}
		judged := judgeGroup(good, group)
		for i := range group {
			silent := slices.Clone(group)
			run := silent[i].Check.Run
			silent[i].Check.Run = func(tr *check.Trace) check.Result { return check.Result{Observed: run(tr).Observed} }
			var table Table
			table.addRequirement(good, judged, silent)
			want := "no mutant trips check " + silent[i].Check.ID
			if !slices.ContainsFunc(table.Faults, func(f string) bool { return strings.Contains(f, want) }) {
				t.Errorf("%s finds nothing any more, and the self-test says %q", silent[i].Check.ID, table.Faults)
			}
		}
	}
}

// A check that is gone leaves a requirement without it, or a requirement that is gone a
// check: both are errors before anything is judged.
func TestMissingCheckIsAnError(t *testing.T) {
	catalogue, err := specs.Requirements()
	if err != nil {
		t.Fatal(err)
	}
	checks := check.All()
	for i := range checks {
		less := slices.Delete(slices.Clone(checks), i, i+1)
		if _, err := report.Rules(catalogue, less); err == nil ||
			!strings.Contains(err.Error(), checks[i].ID+" does not exist") {
			t.Errorf("%s is gone: %v", checks[i].ID, err)
		}
	}
	if _, err := report.Rules(catalogue[1:], checks); err == nil ||
		!strings.Contains(err.Error(), "no requirement names this check") {
		t.Errorf("a check that nobody names: %v", err)
	}
}

func judgeGroup(good []evidence.Evidence, group []report.Rule) [][]report.Result {
	out := make([][]report.Result, len(good))
	for i := range good {
		out[i] = report.Judge(group, &good[i])
	}
	return out
}
