package specs

import (
	"reflect"
	"strings"
	"testing"
)

func TestWireRules(t *testing.T) {
	rules, err := WireRules()
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]WireRule{}
	for _, r := range rules {
		if r.Title() == "" || r.Section == "" {
			t.Errorf("%v: no text or no section", r.IDs)
		}
		byID[r.IDs[0]] = r
	}
	for id, section := range map[string]string{"A-34": "5.1 Anthropic", "O-12": "5.2 OpenAI", "G-7": "5.3 Gemini",
		"ANT-B8": "5.1 Anthropic", "R44": "R: regressions by requirement", "G19": "9 Pitfalls of recording proxies"} {
		if byID[id].Section != section {
			t.Errorf("%s stands in %q", id, byID[id].Section)
		}
	}
	if len(rules) < 250 {
		t.Errorf("%d rules", len(rules))
	}
}

func TestParseWireRules(t *testing.T) {
	const page = "# Page\n\n| form | what |\n|---|---|\n| a | b |\n\n## 1 Rules\n\n| id | demand | sure |\n|---|---|---|\n" +
		"| A-1 · ANT-M6 | `a\\|b` | rec |\n| A-2 | no | |\n\n| A-3 | no table |\n"
	got, err := parseWireRules(page)
	want := []WireRule{
		{[]string{"A-1", "ANT-M6"}, "1 Rules", []Cell{{"demand", "`a|b`"}, {"sure", "rec"}}},
		{[]string{"A-2"}, "1 Rules", []Cell{{"demand", "no"}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	for bad, why := range map[string]string{
		"| id | d |\n|---|---|\n| A-1 | x |\n| A-2 · A-1 | y |": "used twice",
		"| id | d |\n|---|---|\n| A-1 | x | y |":                "3 cells under 2 columns",
		"| id | d |\n|---|---|\n|  | x |":                       "is missing",
	} {
		if _, err := parseWireRules(bad); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestWireSections(t *testing.T) {
	text := map[string]string{}
	for _, s := range WireSections() {
		text[s.Number+" "+s.Title] = s.Text
	}
	for heading, part := range map[string]string{"1.4 Endpoints and framing: Framing of streams": "CRLF",
		"3.1 Streams: Anthropic": "content_block_start", "4 Errors and retry": "Retryable"} {
		if !strings.Contains(text[heading], part) || strings.Contains(text[heading], "\n#") {
			t.Errorf("%s: %q", heading, text[heading])
		}
	}
}
