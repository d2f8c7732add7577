package specs

import (
	"strings"
	"testing"
)

const goodTeamRule = "- id: TEAM-001\n  title: t\n  consequence: unsafe\n  path: metadata.user_id\n  present: true\n"

func TestParseTeamRules(t *testing.T) {
	rules, err := ParseTeamRules("r.yaml", []byte(goodTeamRule+`- id: TEAM-002
  title: ours, sharper
  uses: sig-019
  consequence: unsafe
- id: TEAM-003
  title: one check
  uses: SIG-001/thinking-text
- id: TEAM-004
  title: pinned
  consequence: degraded
  provider: [anthropic]
  header: anthropic-version
  equals: "2023-06-01"
`))
	if err != nil {
		t.Fatal(err)
	}
	if a := rules[0].Assertion; a.Selector() != "metadata.user_id" || !a.Present ||
		rules[0].Requirement.Checks[0] != "TEAM-001/request" {
		t.Errorf("%+v", rules[0])
	}
	if r := rules[1]; r.Requirement.Consequence != Unsafe || r.Uses[0] != "SIG-019/own-model" ||
		r.Requirement.Checks[0] != "TEAM-002/own-model" || r.Requirement.Fix == "" {
		t.Errorf("%+v", r)
	}
	if r := rules[2]; len(r.Uses) != 1 || r.Requirement.Consequence != Refused ||
		r.Requirement.Applies.Provider[0] != "anthropic" {
		t.Errorf("%+v", r)
	}
	if r := rules[3]; r.Assertion.Header != "Anthropic-Version" || r.Assertion.Equals != `"2023-06-01"` ||
		r.Line != 13 {
		t.Errorf("%+v", r)
	}
}

func TestTeamRuleFaults(t *testing.T) {
	rule := func(lines ...string) string { return "- id: TEAM-002\n  title: t\n  " + strings.Join(lines, "\n  ") }
	for _, c := range []struct{ text, want string }{
		{"", `r.yaml:1: is empty; it must be a list with at least one entry`},
		{"a: b", `r.yaml:1:1: is a mapping; it must be a list with at least one entry`},
		{"- id: SIG-001\n  title: t",
			`r.yaml:1:7: SIG-001.id: is a requirement of conform; take one such as TEAM-001, and write uses: SIG-001 to restate it`},
		{"- id: ACME-1\n  title: t", `r.yaml:1:7: ACME-1.id: "ACME-1" is not TEAM-001 to TEAM-999`},
		{rule("pathh: a"), `r.yaml:3:3: key "TEAM-002.pathh" is not known; did you mean path?`},
		{rule("consequence: bad", "path: a", "present: true"),
			`r.yaml:3:16: TEAM-002.consequence: "bad" is not known; use refused, unsafe, degraded, wasteful`},
		{rule("consequence: unsafe"), `r.yaml:1:3: TEAM-002: asks nothing; give it path:, header: or uses:`},
		{rule("consequence: unsafe", "path: a"), "TEAM-002: asks nothing of a; add present: true"},
		{rule("consequence: unsafe", "path: a..b", "present: true"),
			`r.yaml:4:9: TEAM-002.path: "a..b" searches at every depth with .., which is not offered; name the members on the way`},
		{rule("consequence: unsafe", "path: 'a[?(@.b)]'", "present: true"), "has a filter"},
		{rule("consequence: unsafe", "path: 'a b'", "present: true"), `"a b" cannot be read from " b" on`},
		{rule("consequence: unsafe", "path: a"+strings.Repeat(".a", 32), "present: true"), "has more than 32 steps"},
		{rule("consequence: unsafe", "path: a", "present: false"),
			`r.yaml:5:12: TEAM-002.present: "false" is not known; use true`},
		{rule("consequence: unsafe", "path: a", "matches: (b"),
			"r.yaml:5:12: TEAM-002.matches: is not a regular expression of RE2: missing closing ): `(b`"},
		{rule("consequence: unsafe", "path: a", "matches: '(?<!b)a'"), "is not a regular expression of RE2"},
		{rule("consequence: unsafe", "path: a", "matches: "+strings.Repeat("b", 1001)),
			`r.yaml:5:12: TEAM-002.matches: has 1001 bytes, at most 1000 are taken`},
		{rule("consequence: unsafe", "path: a", "header: b", "present: true"), "has path and header; make two rules"},
		{rule("consequence: unsafe", "path: a", "absent: true", "equals: 7"),
			`r.yaml:5:11: TEAM-002.absent: contradicts itself: what is absent cannot be present, equal or matched`},
		{rule("consequence: unsafe", "path: a", "equals: x", "matches: '^y'"),
			`r.yaml:6:12: TEAM-002.matches: contradicts itself: a cannot be equal to "x" and match ^y`},
		{rule("consequence: unsafe", "header: Anthropic-Version", "absent: true"),
			`r.yaml:5:11: TEAM-002.absent: contradicts PAR-011: anthropic takes no request without the header anthropic-version`},
		{rule("consequence: unsafe", "path: messages", "absent: true"),
			`r.yaml:5:11: TEAM-002.absent: contradicts HYG-001: anthropic takes no request without messages`},
		{rule("consequence: unsafe", "provider: athropic", "path: a", "present: true"),
			`r.yaml:4:13: TEAM-002.provider[0]: "athropic" is not known; use anthropic, openai, gemini, chat; did you mean anthropic?`},
		{rule("uses: SIG-01"), `r.yaml:3:9: TEAM-002.uses: conform has no requirement SIG-01; did you mean SIG-001?`},
		{rule("uses: SIG-001/signature-byte"),
			`r.yaml:3:9: TEAM-002.uses: SIG-001 has no check SIG-001/signature-byte; did you mean SIG-001/signature-bytes?`},
		{rule("uses: SIG-001", "present: true"), "has uses and an assertion"},
		{rule("uses: SIG-001", "provider: gemini"),
			`r.yaml:4:13: TEAM-002.provider: matches nothing with gemini: SIG-001 speaks of anthropic only`},
		{rule("uses: SIG-001", "consequence: degraded"),
			`r.yaml:4:16: TEAM-002.consequence: degraded contradicts SIG-001, which is refused: a rule cannot make ours milder; list what is known in a baseline instead`},
		{goodTeamRule + "- id: TEAM-001\n  title: t\n  uses: SIG-001",
			`r.yaml:6:7: [1].id: stands in line 1 already; ids are unique`},
		{goodTeamRule + rule("consequence: unsafe", "path: $.metadata.user_id", "absent: true"),
			`r.yaml:6:3: TEAM-002: contradicts TEAM-001 in line 1: metadata.user_id cannot be present and absent`},
		{strings.Repeat("- 7\n", 501), "r.yaml: has 501 rules, at most 500 are read"},
		{strings.Repeat("#", MaxTeamRulesBytes+1), "r.yaml: has 1048577 bytes, at most 1048576 are read"},
	} {
		if _, err := ParseTeamRules("r.yaml", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	if _, err := ParseTeamRules("r.yaml",
		[]byte(goodTeamRule+rule("consequence: unsafe", "provider: gemini", "path: contents",
			"present: true"))); err != nil {
		t.Error(err)
	}
}

// Paths are read as they are written.
func TestPath(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "$.a.b": "a.b", "messages[*].content[0].type": "messages[*].content[0].type", "a.*.b": "a[*].b",
		`["odd name"].x`: `["odd name"].x`, "[0]": "[0]",
	} {
		if p, err := ParsePath(text); err != nil || p.String() != want {
			t.Errorf("%s: %s, %v", text, p, err)
		}
	}
}

func FuzzParseTeamRules(f *testing.F) {
	f.Add([]byte(goodTeamRule))
	f.Add([]byte("- id: TEAM-002\n  uses: SIG-001\n  title: &a t\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rules, err := ParseTeamRules("r.yaml", data)
		if err != nil {
			return
		}
		for _, r := range rules {
			if !isTeamID(r.Requirement.ID) || (r.Assertion == nil) == (r.Uses == nil) ||
				len(r.Requirement.Checks) == 0 {
				t.Fatalf("%+v", r)
			}
			if r.Assertion != nil && r.Assertion.Path != nil {
				if again, err := ParsePath(r.Assertion.Path.String()); err != nil ||
					again.String() != r.Assertion.Path.String() {
					t.Fatalf("%v: %v, %v", r.Assertion.Path, again, err)
				}
			}
		}
	})
}
