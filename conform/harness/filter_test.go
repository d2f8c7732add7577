package harness

import (
	"strings"
	"testing"
)

func TestParseFilter(t *testing.T) {
	labels := []string{"SIG-001", "SIG", "MUST", "anthropic"}
	for expression, want := range map[string]bool{
		"": true, "SIG-001": true, "ORD": false, "SIG && MUST": true, "SIG && !anthropic": false,
		"ORD || (SIG && anthropic)": true, "/^SIG-0/": true,
	} {
		match, err := ParseFilter(expression)
		if err != nil {
			t.Errorf("%q: %v", expression, err)
		} else if match(labels) != want {
			t.Errorf("%q: %t", expression, !want)
		}
	}
}

func TestParseFilterErrors(t *testing.T) {
	for expression, want := range map[string]string{
		"SIG &&": "ends where a label is missing", "(SIG": "opens a group with (", "(": "opens a group with (",
		"SIG)": "closes a group", "()": "has () with nothing",
		"&&": "has no label before &&", "SIG & ORD": "has a single &", "SIG (ORD)": "has no operator before (",
		"(SIG) ORD": "has two labels",
		"/[/":       "has a regular expression that cannot be read", "a: {": "has a colon",
	} {
		_, err := ParseFilter(expression)
		if err == nil || !strings.HasPrefix(err.Error(), `filter "`+expression+`": `+want) ||
			strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %v", expression, err)
		}
	}
}

func TestCheckFilter(t *testing.T) {
	known := []string{"SIG", "SIG-001", "gemini"}
	for expression, want := range map[string]string{
		"": "", "sig && !GEMINI": "", "/none/ || SIG": "",
		"SIG || gemni":  `"gemni" here; did you mean gemini?`,
		"SIG && !other": `"other" here; conform list shows the ids`,
		"SIG gemini":    `"SIG gemini" here; conform list`,
		"SIG &&":        "ends where a label is missing",
	} {
		err := CheckFilter(expression, known)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", expression, err, want)
		}
	}
}

func FuzzParseFilter(f *testing.F) {
	f.Add("SIG && (!MUST || /x/)")
	f.Add("a:{b,c}")
	f.Fuzz(func(t *testing.T, expression string) {
		match, err := ParseFilter(expression)
		if (match == nil) == (err == nil) {
			t.Fatalf("%q: match %v, error %v", expression, match != nil, err)
		}
		if err != nil && strings.ContainsAny(strings.TrimPrefix(err.Error(), "filter "), "\n") {
			t.Fatalf("%q: %q is more than one line", expression, err)
		}
	})
}
