package fault

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/proxy/llm"
)

func TestParse(t *testing.T) {
	plan, err := Parse("f.yaml", []byte(`
seed: 7
faults:
  - fault: status
    status: 429
    retry_after: 2
    headers: {x-should-retry: "true"}
    provider: anthropic
    operation: stream
    nth: 2
    times: 3
  - {fault: stall, for: 1m30s, then: close, before_terminal: true, chance: 0.5, consume: true}
  - {fault: ping_flood, count: 7, every: 5ms, after_event: 3, interaction: 0}
`))
	if err != nil {
		t.Fatal(err)
	}
	yes, seed := true, uint64(7)
	base := Fault{Interaction: -1, Chance: 1, Times: 1, Count: 100, Value: defaultValue}
	status, stall, pings := base, base, base
	status.Kind, status.Line, status.Status, status.RetryAfter = kindStatus, 4, 429, "2"
	status.Header = map[string][]string{"X-Should-Retry": {"true"}}
	status.Provider, status.Operation, status.Nth, status.Times = "anthropic", llm.Stream, 2, 3
	stall.Kind, stall.Line, stall.For, stall.Then = kindStall, 12, 90*time.Second, thenClose
	stall.Place, stall.Chance, stall.Consume = Place{At: beforeTerminal}, 0.5, &yes
	pings.Kind, pings.Line, pings.Count, pings.For = kindPingFlood, 13, 7, 5*time.Millisecond
	pings.Place, pings.Interaction = Place{At: afterEvent, N: 3}, 0
	want := Plan{Name: "f.yaml", Seed: &seed, Faults: []Fault{status, stall, pings}}
	if !reflect.DeepEqual(plan, want) {
		t.Errorf("got  %+v\nwant %+v", plan, want)
	}
}

// Every mistake is named with the line it is on.
func TestParseErrors(t *testing.T) {
	const head = "faults:\n  - "
	for text, want := range map[string]string{
		"":                          `f.yaml:1: is empty; write a list under the key faults`,
		"faults: []":                `f.yaml:1: faults: expected a list with at least one entry`,
		"faults":                    `f.yaml:1: expected a mapping with faults, seed`,
		"seed: 1":                   `f.yaml:1: key "faults" is missing`,
		"\nsede: 1\nfaults: 2":      `f.yaml:2: unknown key "sede"; known here: faults, seed`,
		"seed: -1\nfaults: 2":       `f.yaml:1: seed: "-1" is not a whole number from 0 to 18446744073709551615`,
		"faults:\n - {fault: reset": `f.yaml:1: no YAML: did not find expected ',' or '}'`,
		"a: b: c":                   `f.yaml:1: no YAML: mapping values are not allowed in this context`,
		head + "reset":              `f.yaml:2: expected a mapping with fault, a place, and what else it needs`,
		head + "at_start: true":     `f.yaml:2: key "fault" is missing; it is one of bad_utf8, close, `,
		head + "fault: resett":      `f.yaml:2: fault: "resett" is none of bad_utf8, close, `,
		head +
			"fault: reset": `f.yaml:2: reset: says not where; add one of before_header, at_start, at_byte, after_event, before_terminal, after_terminal`,
		head +
			"fault: reset\n    after_event: 0": `f.yaml:3: "0" is not a whole number from 1 to 2147483647`,
		head +
			"fault: reset\n    after_event: 1\n    at_byte: 2": `f.yaml:4: at_byte: a fault has one place, this has after_event already`,
		head +
			"fault: reset\n    at_start: false": `f.yaml:3: at_start: can only be true; leave it out otherwise`,
		head +
			"fault: reset\n    at_start: true\n    for: 1s": `f.yaml:4: unknown key "for"; known here: after_event, `,
		head +
			"fault: truncate\n    before_header: true": `f.yaml:3: unknown key "before_header"; known here: after_event, `,
		head +
			"fault: status\n    at_start: true": `f.yaml:3: unknown key "at_start"; known here: chance, `,
		head +
			"fault: status": `f.yaml:2: key "status" is missing`,
		head +
			"fault: status\n    status: 200": `f.yaml:3: "200" is not a whole number from 400 to 599`,
		head +
			"fault: status\n    status: 429\n    status: 429": `f.yaml:4: key "status" stands twice`,
		head +
			"fault: status\n    status: 429\n    headers: [a]": `f.yaml:4: headers: expected a mapping of names and values`,
		head +
			"fault: status\n    status: 429\n    headers: {a b: c}": `f.yaml:4: "a b" cannot be a header's name`,
		head +
			"fault: status\n    status: 429\n    retry_after: \"a\\nb\"": `f.yaml:4: "a\nb" cannot be a header's value`,
		head +
			"fault: stall\n    at_start: true": `f.yaml:2: key "for" is missing`,
		head +
			"fault: stall\n    at_start: true\n    for: 30": `f.yaml:4: "30" is not a time from 0s to 24h; write 30s or 250ms`,
		head +
			"fault: stall\n    at_start: true\n    for: 1s\n    then: stop": `f.yaml:5: "stop" is none of continue, reset, close, truncate`,
		head +
			"fault: stall\n    before_header: true\n    for: 1s\n    then: truncate": `f.yaml:2: stall: before_header nothing can be truncated; use then: close or reset`,
		head +
			"fault: content_length": `f.yaml:2: key "by" is missing`,
		head +
			"fault: content_length\n    by: 0": `f.yaml:3: by: 0 would be the right length`,
		head +
			"fault: content_type\n    chance: 2": `f.yaml:3: chance: "2" is not a number above 0 and up to 1`,
		head +
			"fault: content_type\n    provider: acme": `f.yaml:3: "acme" is none of anthropic, openai, gemini`,
		head +
			"fault: content_type\n    operation: chat": `f.yaml:3: "chat" is none of stream, unary, count, models, other`,
		head +
			"fault: content_type\n    value:": `f.yaml:3: expected a text; write "" for an empty one`,
		head +
			"fault: content_type\n    consume: maybe": `f.yaml:3: "maybe" is none of true, false`,
		head +
			"&a {fault: content_type}\n  - *a": `f.yaml:3: expected a mapping with fault, a place, and what else it needs`,
		head +
			"fault: content_type\n---\n{}": `f.yaml:3: a second document; a plan is one`,
	} {
		plan, err := Parse("f.yaml", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q\n got %v\nwant %s", text, err, want)
		}
		if plan.Faults != nil {
			t.Errorf("%q: faults beside an error", text)
		}
	}
}

// Every kind and place of the format has its row in the guide.
func TestGuideIsComplete(t *testing.T) {
	guide, err := os.ReadFile(filepath.FromSlash("../../docs/guides/faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for kind, form := range forms {
		words = append(append(words, string(kind)), form.keys...)
	}
	for _, spot := range anywhere {
		words = append(words, string(spot))
	}
	for _, mode := range modes {
		words = append(words, string(mode))
	}
	for _, word := range append(words, commonKeys...) {
		if !strings.Contains(string(guide), "`"+word+"`") && !strings.Contains(string(guide), "`"+word+": ") {
			t.Errorf("docs/guides/faults.md does not name `%s`", word)
		}
	}
}

// A plan is read or refused with one line that names the file and a line of it.
func FuzzParse(f *testing.F) {
	f.Add("seed: 7\nfaults:\n  - fault: reset\n    after_event: 7\n")
	f.Add("faults:\n  - {fault: stall, for: 30s, then: close, at_byte: 812}\n")
	f.Add("faults:\n  - {fault: status, status: 429, headers: {a: b}}\n")
	f.Add("faults: &a [*a]")
	f.Add("? {a: b}\n: c")
	f.Add("\xff\x00: !!binary x")
	place := regexp.MustCompile(`^f\.yaml:[0-9]+: `)
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := Parse("f.yaml", []byte(text))
		switch {
		case err != nil && (!place.MatchString(err.Error()) || strings.Contains(err.Error(), "\n")):
			t.Fatalf("%q: %q", text, err)
		case err == nil && len(plan.Faults) == 0:
			t.Fatalf("%q: no faults and no error", text)
		}
		for _, fault := range plan.Faults {
			if form := forms[fault.Kind]; (fault.Place.At == nowhere) != (len(form.spots) == 0) {
				t.Fatalf("%q: %+v", text, fault)
			}
		}
	})
}
