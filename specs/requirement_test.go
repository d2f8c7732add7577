package specs

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/meerkat-go/conformance/schemas"
)

func TestEmbeddedCatalogueLoads(t *testing.T) {
	all, err := Requirements()
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range all {
		if i > 0 && all[i-1].ID >= r.ID {
			t.Errorf("%s stands after %s", r.ID, all[i-1].ID)
		}
		if r.Area() == "" {
			t.Errorf("%s has no area", r.ID)
		}
	}
}

const entry = `- id: ORD-001
  title: A title
  consequence: refused
  text: A sentence.
  source: [{url: https://example.com, section: "A-19", retrieved: "2026-10-20"}]
  applies: {provider: [anthropic], source: [cassette, live]}
  status: stable
  added: "2026-12"
  why: Users lose work.
  fix: Do not.
  examples:
    failing: {provider: anthropic, exchanges: [{request: "{}"}]}
    passing: {provider: anthropic, exchanges: [{request: "{}", process: 1}], processes: [{exit: 0}, {exit: 1}]}
  checks: [ORD-001/answered]
  mutants: [orphan-tool-result]
  where:
    - {provider: [anthropic], models: "claude < 4", consequence: none}
    - {checks: [ORD-001/answered], host: other, since: "2026-01-01", consequence: degraded}
`

// TestFaults alters one thing of a good entry and expects one sentence.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"form of id", "id: ORD-001", "id: ORD-1", `ord.yaml:1:7: ORD-1.id: "ORD-1" is not AREA-NNN`},
		{"unknown area", "id: ORD-001", "id: ODR-001",
			`ODR-001.id: "ODR-001" is not AREA-NNN with one of the areas ORD, SIG`},
		{"wrong file", "id: ORD-001", "id: SIG-001", "SIG-001.id: stands in ord.yaml; move it to sig.yaml"},
		{"no id", "- id: ORD-001\n  title", "- title", `ord.yaml:1:3: key "[0].id" is missing`},
		{"no title", "A title", `""`, "ord.yaml:2:10: ORD-001.title: is blank; write a text"},
		{"a title that is no duty", "A title", "it holds", `ORD-001.title: "it holds" is not a duty`},
		{"no fix", "fix: Do not.", "fix:", "fix: is empty"},
		{"fix of another check", "fix: Do not.", "fix: Do not.\n  fixes: [{checks: [ORD-002/answered], fix: Do}]",
			`fixes[0].checks: "ORD-002/answered" is not a check of ORD-001`},
		{"fix of everything", "fix: Do not.", "fix: Do not.\n  fixes: [{fix: Do}]", "fixes[0]: matches everything"},
		{"unknown consequence", "consequence: refused", "consequence: Refused",
			`consequence: "Refused" is not known; use refused, unsafe, degraded, wasteful`},
		{"none for all", "consequence: refused", "consequence: none", `consequence: "none" is not known`},
		{"unknown model", `"claude < 4"`, `"cloud < 4"`,
			`ord.yaml:17:39: ORD-001.where[0].models: models "cloud < 4": "cloud" is not a family; use claude, gemini, gpt, o`},
		{"row of another check", "checks: [ORD-001/answered], host", "checks: [ORD-002/answered], host",
			`where[1].checks: "ORD-002/answered" is not a check of ORD-001: ORD-001/answered`},
		{"unknown host", "host: other", "host: foreign", `where[1].host: "foreign" is not known; use own, other`},
		{"day of a row", `since: "2026-01-01"`, `since: "2026-01"`, `where[1].since: "2026-01" is not a day`},
		{"row for all", `{provider: [anthropic], models: "claude < 4", consequence: none}`, "{consequence: none}",
			"where[0]: matches everything"},
		{"unknown judged", "status: stable", "judges: agent\n  status: stable",
			`judges: "agent" is not known; use source`},
		{"added", `added: "2026-12"`, `added: "2026-13"`, `added: "2026-13" is not a month`},
		{"days swapped", `added: "2026-12"`, "added: '2026-12'\n  since: '2026-02-01'\n  until: '2026-01-01'",
			"since 2026-02-01 is not before until 2026-01-01"},
		{"no source", `source: [{url: https://example.com, section: "A-19", retrieved: "2026-10-20"}]`, "source: []",
			"source: is an empty list"},
		{"url without a day", `, retrieved: "2026-10-20"}`, "}", `source[0]: has a url and needs the day`},
		{"two homes of a source", "{url:", "{doc: wire rules, url:", "source[0]: needs either url or doc"},
		{"unknown document", `url: https://example.com, section: "A-19", retrieved: "2026-10-20"`, "doc: DESIGN",
			`source[0].doc: "DESIGN" is not known; use wire rules`},
		{"no public source", `url: https://example.com, section: "A-19", retrieved: "2026-10-20"`, "doc: wire rules",
			"has no public source"},
		{"unverified without reason", `url: https://example.com, section: "A-19", retrieved: "2026-10-20"`,
			"unverified: true", "unverified and reason stand together"},
		{"no examples",
			"  examples:\n    failing: {provider: anthropic, exchanges: [{request: \"{}\"}]}\n    passing: {provider: anthropic, exchanges: [{request: \"{}\", process: 1}], processes: [{exit: 0}, {exit: 1}]}\n", "", "has no examples; write a failing and a passing one"},
		{"example without provider", "failing: {provider: anthropic,", "failing: {",
			`key "ORD-001.examples.failing.provider" is missing`},
		{"example without exchange", `failing: {provider: anthropic, exchanges: [{request: "{}"}]}`,
			"failing: {provider: anthropic}", "examples.failing: has no exchange"},
		{"exchange of a process that is not there", "process: 1", "process: 2",
			"examples.passing.exchanges[0].process: 2 is not among"},
		{"unknown provider", "[anthropic]", "[antropic]", `applies.provider[0]: "antropic" is not known`},
		{"no check", "[ORD-001/answered]", "[]", "has no check"},
		{"foreign check", "ORD-001/answered", "ORD-002/answered", `checks: "ORD-002/answered" is not ORD-001/aspect`},
		{"check twice", "[ORD-001/answered]", "[ORD-001/answered, ORD-001/answered]",
			`"ORD-001/answered" is already used`},
		{"no mutant", "[orphan-tool-result]", "[]", "has no mutant"},
		{"mutant name", "orphan-tool-result", "Orphan", `mutants[0]: "Orphan" is not lower case`},
		{"unknown key", "consequence: refused", "consequenze: refused",
			`ord.yaml:3:3: key "ORD-001.consequenze" is not known; did you mean consequence?`},
		{"empty", entry, "", "is empty; it must be a list"},
		{"two documents", "  mutants: [orphan-tool-result]\n", "  mutants: [a]\n---\n- id: ORD-002\n",
			"more than one YAML document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(entry, c.old, c.new, 1)
			if text == entry {
				t.Fatal("the case alters nothing")
			}
			_, err := loadRequirements(fstest.MapFS{"requirements/ord.yaml": {Data: []byte(text)}})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "ord.yaml") {
				t.Fatalf("error %v\nwant one naming ord.yaml with %q", err, c.want)
			}
			if list := entries(t, []byte(text)); isOfForm.MatchString(c.want) && len(list) > 0 &&
				schemas.Validate(schemas.Requirement, list[0]) == nil {
				t.Errorf("the schema accepts %q", c.new)
			}
		})
	}
}

func TestGoodEntryLoads(t *testing.T) {
	all, err := loadRequirements(fstest.MapFS{"requirements/ord.yaml": {Data: []byte(entry)}})
	if err != nil || len(all) != 1 || all[0].Sources[0].Section != "A-19" ||
		all[0].Where[0].Models.String() != "claude < 4" {
		t.Fatalf("%+v, %v", all, err)
	}
	r := all[0]
	if !r.Applies.To("anthropic", "live") || r.Applies.To("gemini", "live") || r.Applies.To("anthropic", "recording") {
		t.Error("applies is not honoured")
	}
	if !(Applies{}).To("gemini", "recording") {
		t.Error("an empty list means all")
	}
}

func TestDuplicateIDs(t *testing.T) {
	_, err := loadRequirements(fstest.MapFS{"requirements/ord.yaml": {Data: []byte(entry + entry)}})
	if err == nil || !strings.Contains(err.Error(),
		`ord.yaml:19:3: [1]: "ORD-001" is already used in requirements/ord.yaml`) {
		t.Fatal(err)
	}
}

func TestWithdrawnNeedsNoCheck(t *testing.T) {
	text := strings.NewReplacer("status: stable", "status: withdrawn", "[ORD-001/answered]", "[]",
		"[orphan-tool-result]", "[]").Replace(entry)
	if _, err := loadRequirements(fstest.MapFS{"requirements/ord.yaml": {Data: []byte(text)}}); err != nil {
		t.Fatal(err)
	}
}

func TestFindRequirement(t *testing.T) {
	if r, err := FindRequirement("ord-001"); err != nil || r.ID != "ORD-001" {
		t.Fatal(r.ID, err)
	}
	_, err := FindRequirement("ODR-001")
	if !errors.Is(err, errUnknownRequirement) || !strings.Contains(err.Error(), "did you mean ORD-001?") {
		t.Fatal(err)
	}
}

func FuzzParseRequirements(f *testing.F) {
	f.Add([]byte(entry))
	f.Add([]byte("- id: ORD-001\n  consequenze: x\n"))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseRequirements("ord.yaml", data, map[string]string{})
		if err == nil && len(list) == 0 {
			t.Fatal("nothing was read and nothing was said")
		}
	})
}

// TestFixOf: the first row of fixes that matches counts, and the fix of the requirement where no row does.
func TestFixOf(t *testing.T) {
	r := Requirement{Fix: "general", Fixes: []Fix{
		{Checks: []string{"ORD-015/roles"}, Rules: []string{"A-9"}, Says: "system", Fix: "move it"},
		{Rules: []string{"A-9"}, Fix: "rename it"},
		{Says: "is empty", Fix: "leave it out"},
	}}
	for _, c := range []struct{ check, rule, message, want string }{
		{"ORD-015/roles", "A-9", "takes no message of the system", "move it"},
		{"ORD-015/roles", "A-9", `role "tool" is none`, "rename it"},
		{"ORD-015/parts", "A-9", "takes no message of the system", "rename it"},
		{"ORD-015/parts", "A-7", "the list is empty", "leave it out"},
		{"ORD-015/parts", "", "takes no sound", "general"},
	} {
		if got := r.FixOf(c.check, c.rule, c.message); got != c.want {
			t.Errorf("%v: %q", c, got)
		}
	}
}
