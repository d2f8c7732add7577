package specs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/datafile"
)

var freezeMonth = flag.String("freeze", "", "write the set of a month, yyyy-mm, which must not exist yet")

// frozenDigests are the sets that were published. A file that changes breaks the word
// that was given to those who gate by it.
var frozenDigests = map[string]string{
	"2026-12": "6d5a8e3f381d8032fe673467ae4401865648d5e2cbb58f492ca3afbc214e1c3f",
}

func TestFrozenSets(t *testing.T) {
	if *freezeMonth != "" {
		writeFrozenSet(t, *freezeMonth)
		return
	}
	all, err := Requirements()
	if err != nil {
		t.Fatal(err)
	}
	names := SetNames()
	if names[0] != CurrentSet || len(names) != 1+len(frozenDigests) {
		t.Fatalf("sets %v, digests of %d", names, len(frozenDigests))
	}
	for _, month := range names[1:] {
		data, err := setFiles.ReadFile("sets/" + month + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:]); got != frozenDigests[month] {
			t.Errorf("%s: digest %s: a frozen set has changed; add a new month: go test ./specs -run FrozenSets -freeze yyyy-mm", month, got)
		}
		var frozen []frozenRequirement
		if err := datafile.Read(month, data, &frozen, datafile.Options{Rules: rules}).Err(); err != nil {
			t.Fatal(err)
		}
		for _, f := range frozen {
			i := slices.IndexFunc(all, func(r Requirement) bool { return r.ID == f.ID })
			if i < 0 {
				t.Errorf("%s: %s has left the catalogue; withdraw it instead", month, f.ID)
			} else if all[i].Added > month {
				t.Errorf("%s: %s was added in %s", month, f.ID, all[i].Added)
			}
		}
		if set, err := Set(month); err != nil || len(set) == 0 {
			t.Errorf("%s: %d requirements, %v", month, len(set), err)
		}
	}
	if _, err := Set("2001-01"); err == nil || !strings.Contains(err.Error(), "use current or ") {
		t.Error(err)
	}
}

func writeFrozenSet(t *testing.T, month string) {
	t.Helper()
	if _, err := time.Parse("2006-01", month); err != nil {
		t.Fatal(err)
	}
	text, err := freezeSet()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile("sets/"+month+".yaml", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	t.Logf("add to frozenDigests: %q: %q", month, hex.EncodeToString(sum[:]))
}

// freezeSet is the text of the file that freezes the current set.
func freezeSet() ([]byte, error) {
	all, err := Set(CurrentSet)
	if err != nil {
		return nil, err
	}
	var list []frozenRequirement
	for _, r := range all {
		list = append(list, frozenRequirement{r.ID, r.Consequence, r.Where, r.Applies, r.Since, r.Until, r.Checks})
	}
	var b bytes.Buffer
	b.WriteString("# A frozen set of requirements: never change it, later months get files of their own.\n")
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err = enc.Encode(list)
	return b.Bytes(), err
}

// A later catalogue never makes a frozen set stricter, and may make it milder.
func TestFreeze(t *testing.T) {
	gemini := Where{Provider: []string{"gemini"}, Consequence: Refused}
	frozen := []frozenRequirement{
		{ID: "ORD-001", Consequence: Degraded, Checks: []string{"ORD-001/a"},
			Applies: Applies{Provider: []string{"openai", "gemini"}}},
		{ID: "ORD-002", Consequence: Refused, Checks: []string{"ORD-002/a"}},
		{ID: "ORD-003", Consequence: Refused, Checks: []string{"ORD-003/gone"}},
	}
	set := freezeRequirements([]Requirement{
		{ID: "ORD-001", Consequence: Refused, Where: []Where{gemini}, Checks: []string{"ORD-001/a", "ORD-001/new"}},
		{ID: "ORD-002", Consequence: Wasteful, Checks: []string{"ORD-002/a"},
			Applies: Applies{Provider: []string{"openai"}}},
		{ID: "ORD-003", Consequence: Refused, Checks: []string{"ORD-003/new"}},
		{ID: "ORD-004", Consequence: Refused, Checks: []string{"ORD-004/a"}},
	}, frozen)
	if len(set) != 2 || !slices.Equal(set[0].Checks, []string{"ORD-001/a"}) {
		t.Fatalf("%+v", set)
	}
	stricter, laxer := set[0], set[1]
	if got := stricter.ConsequenceAt(Place{Provider: "gemini"}); got != Degraded {
		t.Errorf("a rule that became stricter: %s", got)
	}
	if stricter.AppliesTo("anthropic", "simulator") || !stricter.AppliesTo("openai", "simulator") {
		t.Error("a rule that was widened speaks of more than it did")
	}
	if got := laxer.ConsequenceAt(Place{Provider: "openai"}); got != Wasteful {
		t.Errorf("a rule that became milder: %s", got)
	}
	if laxer.AppliesTo("gemini", "simulator") {
		t.Error("a rule that was narrowed speaks of what it does not any more")
	}
}
