package replay

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

func scrubs(t *testing.T, texts ...string) (rules Scrubs) {
	t.Helper()
	for _, text := range texts {
		r, err := ParseScrub(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		rules = append(rules, r)
	}
	return rules
}

// recordedIn makes a cassette with rules.
func recordedIn(t *testing.T, rules Scrubs, ins ...cassette.Interaction) *cassette.Cassette {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.yaml")
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic, Matching: Rules(rules...)},
		cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range w.AppendAll(ins) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := cassette.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// words is a request with one text.
func words(format string, args ...any) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, fmt.Sprintf(format, args...))
}

// Rules stand in the cassette or are given; either way a request of another place
// and day is answered at exact, the receipt names the rules, and another question is
// not answered.
func TestReplayElsewhere(t *testing.T) {
	here := Place{ScrubFolder: "/home/alice/heron", ScrubUser: "alice"}
	there := Place{ScrubFolder: "/work/b/crane", ScrubUser: "node"}
	rules := scrubs(t, "date", "folder", "user", "/build [0-9]+ %/")
	in := pair(words("alice runs node in /home/alice/heron on 2026-11-23, build 17 %%: list files"), "ok")
	in.Place = here
	now := words("node runs node in /work/b/crane on 2027-01-02, build 18 %%: list files")
	for name, cfg := range map[string]Config{
		"in the cassette": {Cassette: recordedIn(t, rules, in), Here: there},
		"given":           {Cassette: recordedIn(t, nil, in), Here: there, Scrubs: rules},
	} {
		cfg.Redactor = masked{}
		p, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if w, _ := ask(p, endpoint, strings.Replace(now, "list", "delete", 1)); w.Code != 400 {
			t.Errorf("%s: another question is answered with %s", name, w.Body)
		}
		if w, _ := ask(p, endpoint, now); w.Body.String() != "ok" {
			t.Errorf("%s: %s", name, w.Body)
		}
		got := p.Receipt()
		want := []string{"/build [0-9]+ %/", "date", "folder", "user"}
		if len(got.RelaxedAnswers) != 1 || !slices.Equal(got.RelaxedAnswers[0].Rules, want) ||
			got.Levels["exact"] != 1 || got.Strict {
			t.Errorf("%s: receipt %+v", name, got)
		}
	}
}

// A cassette of a build that accepted a rule that is too wide now replays by it, and that is
// said; the same rule cannot be given.
func TestOldRuleThatIsTooWide(t *testing.T) {
	for _, text := range []string{"/[A-Za-z]+/", "/a*/", "$..*"} {
		if _, err := ParseScrub(text); err == nil {
			t.Errorf("%s is accepted", text)
		}
		old, err := scrubFromWord(text)
		if err != nil {
			t.Fatal(err)
		}
		in := pair(`{"model":"m","system":"a heron","messages":[{"role":"user","content":"7 birds"}]}`, "ok")
		var lines []string
		p, err := New(Config{Cassette: recordedIn(t, Scrubs{old}, in), Redactor: masked{},
			Log: func(line string) { lines = append(lines, line) }})
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) != 1 || !strings.Contains(lines[0], "x.yaml: its scrub rule "+text+" ") {
			t.Errorf("%s: logged %q", text, lines)
		}
		if w, _ := ask(p, endpoint, string(in.Request.Body)); w.Body.String() != "ok" {
			t.Errorf("%s: %s", text, w.Body)
		}
	}
}

// Without the rule nothing is scrubbed, whatever place the cassette notes.
func TestNoRuleNoScrub(t *testing.T) {
	in := pair(words("in /home/alice"), "ok")
	in.Place = Place{ScrubFolder: "/home/alice"}
	p, err := New(Config{Cassette: recordedIn(t, nil, in), Redactor: masked{}, Here: Place{ScrubFolder: "/home/bob"}})
	if err != nil {
		t.Fatal(err)
	}
	if w, _ := ask(p, endpoint, words("in /home/bob")); w.Code != 400 {
		t.Errorf("%s", w.Body)
	}
}

// Two recordings of one program show what differs from run to run, what is another
// elsewhere, and not what the provider itself said.
func TestLearn(t *testing.T) {
	place := Place{ScrubFolder: "/home/alice/heron", ScrubUser: "alice"}
	record := func(run, call, second string) *cassette.Cassette {
		first := pair(words("On 2026-11-23 in /home/alice/heron, at 10:00:%s, pid %s", second, run),
			`{"content":[{"type":"tool_use","id":"`+call+`"}]}`)
		next := pair(fmt.Sprintf(`{"model":"m","nonce":"n%s","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"x"}]}]}`, run, call), "done")
		first.Place, next.Place = place, place
		return recordedIn(t, nil, first, next)
	}
	now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
	got, err := Learn(record("17", "toolu_01GoG8TtwDVmLVx9fcN9kWte", "01"),
		record("18", "toolu_01LY5MRrQTb9eJ1NPpi4FDyI", "02"), nil, now)
	if err != nil {
		t.Fatal(err)
	}
	want := Learned{Pairs: 2, Equal: 2, Proposals: []Proposal{
		{"time", "10:00:01, then 10:00:02"},
		{"folder", "/home/alice/heron differs elsewhere"},
		{"date", "2026-11-23 differs elsewhere"},
		{`$.messages[*].content /pid\s+\S+/`,
			`"On <date> in <folder>, at <time>, pid 17", then "On <date> in <folder>, at <time>, pid 18"`},
		{"$.nonce", `"n17", then "n18"`},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// What holds already is not proposed again.
	again, err := Learn(record("17", "a", "01"), record("18", "a", "02"),
		scrubs(t, "time", "folder", "date", "$.nonce", `/pid \d+/`), now)
	if err != nil || len(again.Proposals) != 0 || again.Equal != 2 {
		t.Errorf("%+v, %v", again, err)
	}
	// A pattern goes by the word behind, where a named rule takes the one before.
	files := func(n string) *cassette.Cassette {
		in := pair(words("In /home/alice/heron %s files", n), "ok")
		in.Place = place
		return recordedIn(t, nil, in)
	}
	behind, err := Learn(files("17"), files("18"), nil, now)
	if err != nil || behind.Equal != 1 || len(behind.Proposals) != 2 ||
		behind.Proposals[1].Rule != `$.messages[*].content /\S+\s+files/` {
		t.Errorf("%+v, %v", behind, err)
	}
	// What the program said before the provider repeated it is the program's own.
	echoed := func(second string) *cassette.Cassette {
		said := "<now>2026-11-23T10:00:" + second + ".394+00:00</now> Go."
		return recordedIn(t, nil, pair(words("%s", said), "You said: "+said))
	}
	own, err := Learn(echoed("01"), echoed("02"), nil, now)
	if err != nil || own.Equal != 1 || len(own.Proposals) != 2 || own.Proposals[0].Rule != "time" {
		t.Errorf("%+v, %v", own, err)
	}
	// A request that only one run made is counted.
	one, err := Learn(recordedIn(t, nil, pair(`{"a":1}`, "1"), pair(`{"a":2}`, "2")),
		recordedIn(t, nil, pair(`{"a":1}`, "1")), nil, now)
	if err != nil || one.Single != 1 || one.Equal != 1 {
		t.Errorf("%+v, %v", one, err)
	}
}

// A path that takes out what is said does not let another question have the recorded answer,
// at no level but nth.
func TestNoRuleAnswersOtherWords(t *testing.T) {
	for _, path := range []string{"$.messages", "$.messages[*]", "$.messages[*].content"} {
		c := recordedIn(t, scrubs(t, path), pair(words("Hello"), "ok"))
		for level := Exact; level < levels; level++ {
			p, err := New(Config{Cassette: c, Match: level, Redactor: masked{}})
			if err != nil {
				t.Fatal(err)
			}
			if w, _ := ask(p, endpoint, words("Delete everything in production.")); (w.Code == 200) != (level == Nth) {
				t.Errorf("%s at %s: %d %s", path, level, w.Code, w.Body)
			}
		}
	}
}
