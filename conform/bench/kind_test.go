package bench

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/internal/corpus"
)

// TestKindsAreMany holds the size of the two tables and that names are unique.
func TestKindsAreMany(t *testing.T) {
	agentFaults, seen := 0, map[string]bool{}
	for _, k := range slices.Concat(Faults(), Legal()) {
		if name := k.Name + k.Providers[0]; seen[name] {
			t.Errorf("two kinds are called %s", k.Name)
		} else {
			seen[name] = true
		}
		if k.Rule == "" || k.Group == "" || len(k.Providers) == 0 {
			t.Errorf("%s: no rule, group or provider", k.Name)
		}
		if !k.Legal && k.Group != "refusals" {
			agentFaults++
		}
	}
	if agentFaults < 150 || len(Legal()) < 70 {
		t.Errorf("%d faults and %d legal variations", agentFaults, len(Legal()))
	}
}

// TestKindsAlter holds of every kind that it finds a place with each provider it
// names, alters something there, does so again for the same seed, and leaves its
// input alone.
func TestKindsAlter(t *testing.T) {
	_, hasCorpus := corpus.Find()
	subjects := readSubjects(loadRecordings(t))
	for _, k := range slices.Concat(Faults(), Legal()) {
		for _, provider := range k.Providers {
			if !alters(t, k, subjects[provider]) && hasCorpus {
				t.Errorf("%s: no recording of %s has a place for it", k.Name, provider)
			}
		}
	}
}

// alters applies k to the first recording that fits.
func alters(t *testing.T, k Kind, subjects []*subject) bool {
	t.Helper()
	for _, sub := range subjects {
		if len(sub.scene.ev.Exchanges) > 8 {
			continue
		}
		before, after, _, ok := k.apply(sub.scene, newRand(7))
		if !ok {
			continue
		}
		fingerprint := digest(t, sub.scene.ev)
		if digest(t, before) == digest(t, after) {
			t.Errorf("%s alters nothing in %s", k.Name, sub.path)
		}
		_, again, _, _ := k.apply(sub.scene, newRand(7))
		if digest(t, again) != digest(t, after) {
			t.Errorf("%s: two results for one seed in %s", k.Name, sub.path)
		}
		if digest(t, sub.scene.ev) != fingerprint {
			t.Errorf("%s changed its input %s", k.Name, sub.path)
		}
		return true
	}
	return false
}

func digest(t *testing.T, ev evidence.Evidence) string {
	t.Helper()
	b, err := json.Marshal(ev)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestApply holds the exported way to use a kind.
func TestApply(t *testing.T) {
	recordings := loadRecordings(t)
	k := Faults()[slices.IndexFunc(Faults(), func(k Kind) bool { return k.Name == "token-flipped" })]
	for i := range recordings {
		ev, place, ok := k.Apply(&recordings[i].Evidence, newRand(1))
		if !ok {
			continue
		}
		if place.Path == "" || reflect.DeepEqual(ev.Exchanges, recordings[i].Evidence.Exchanges) {
			t.Errorf("altered %+v in %s", place, recordings[i].Path)
		}
		return
	}
	t.Error("no cassette has a token")
}

// TestJSONKeepsBytes holds that what is not altered is written as it was read.
func TestJSONKeepsBytes(t *testing.T) {
	for _, text := range []string{
		`{}`, ` { "a" : [ 1.0 , 1e3 , {} , [ ] ] , "b\u0041" : "\ud83d\ude00" } `, "[\n  true,\n  null\n]", `"x\"y"`, `-0.50`,
	} {
		n, ok := parseJSON([]byte(text))
		if !ok {
			t.Fatalf("%s cannot be read", text)
		}
		if got := n.encodeJSON(); !bytes.Equal(got, bytes.TrimSpace([]byte(text))) {
			t.Errorf("%s became %s", text, got)
		}
	}
	n := parseLiteral(`{"a": 1, "b": [1, 2]}`)
	n.setMember("c", parseLiteral("3"))
	n.at("b").appendValue(parseLiteral("4"))
	n.removeKey("a")
	if got, want := string(n.encodeJSON()), ` "b": [1, 2, 4], "c": 3}`; got != "{"+want {
		t.Errorf("got %s, want {%s", got, want)
	}
}

// TestModels holds how versions are read from names.
func TestModels(t *testing.T) {
	for name, want := range map[string]float64{
		"claude-sonnet-4-5-20250929": 4.5, "claude-opus-4-20250514": 4, "claude-opus-4-7": 4.7, "claude-fable-5-1": 5.1,
		"claude-3-5-sonnet-20241022": 3.5, "gpt-5.2": 0,
	} {
		if v := versionOf(name, claudeForm); v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if isReasoningGPT("gpt-4.1") || !isReasoningGPT("gpt-5.2-codex") || versionOf("gemini-2.5-pro", geminiForm) != 2.5 {
		t.Error("a version is read wrongly")
	}
}

// TestTable holds how findings are counted.
func TestTable(t *testing.T) {
	table := Table{Rows: []Row{
		{Kind: Kind{Name: "a", Group: "tokens"}, Applied: 4, Fail: 2, Warn: 1, Missed: 1, Notes: []string{"x: missed"}},
		{Kind: Kind{Name: "b", Group: "legal", Legal: true}, Applied: 5, Fail: 1, Notes: []string{"y: alarm"}},
	}}
	if s := table.Sum(); s.Applied != 4 || s.Found != 3 || s.Alarms != 1 || s.Rate() != 75 {
		t.Errorf("sum %+v", s)
	}
	var out bytes.Buffer
	if err := table.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"MISSES by kind\ntokens/a", "ALARMS by kind\nlegal/b", "75.0 %"} {
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
