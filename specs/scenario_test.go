package specs

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/schemas"
	"github.com/meerkat-go/conformance/wires"
)

const goodScenario = `Agents lose thoughts.
And calls.
requirements: ORD-001 SIG-001
-- scenario.yaml --
title: everything at once
system: Be brief.
providers:
  gemini: {model: gemini-3-flash-preview}
  anthropic: {model: claude-opus-4-5, effort: high}
player:
  - prompt: go
  - resume: ""
    exit: error
turns:
  - emit:
      - thinking: [one, two]
      - thinking: ""
      - redacted: true
        only: [anthropic]
      - text: "  spaced "
      - signed_text: ""
      - call: {role: echo, args: '{"b": 1.0,"a":2}'}
      - call: {role: noargs}
    stop: max_tokens
    chunks: [1, 7]
  - emit:
      - text: cut here
    cut: {after: 3}
    chunks: whole
  - emit:
      - text: fails here
    error: {kind: overloaded, after: {anthropic: 4, gemini: 1}}
    prompts: 2
`

// faultyScenario has what goes wrong otherwise than by a cut or an error.
const faultyScenario = `Things go wrong.
requirements: ORD-001
-- scenario.yaml --
title: faults
providers: {gemini: {model: gemini-3.5-flash}}
player:
  - prompt: go
turns:
  - emit:
      - text: "no"
    stop: refusal
    refuse: {kind: rate_limit, retry: date, times: 2}
    grease: [unknown_event, unknown_field]
  - emit:
      - text: wait
    stall: {after: 2}
    refuse: {kind: server}
  - emit:
      - call: {role: echo, partial: '{"te'}
    stop: max_tokens
  - stop: blocked_prompt
`

// richScenario has what the provider does by itself and what is expected of the
// client.
const richScenario = `More than words.
requirements: ORD-001
-- scenario.yaml --
title: riches
providers:
  anthropic: {model: claude-opus-4-6}
player:
  - prompt: "Echo {{nonce asked}}."
    says: "{{nonce}}"
turns:
  - expect: {prompt: "{{nonce asked}}", results: ["", b]}
    emit:
      - search: {query: herons, results: [{title: Herons, url: "https://example.com/"}]}
      - code: {source: "print(6)", output: "6\n"}
      - call: {role: any, fill: "{{nonce asked}}"}
    grease: [unknown_block]
  - emit:
      - text: wait
    stop: pause_turn
  - emit:
      - text: go on
    refuse: {kind: context}
`

func TestParseRichScenario(t *testing.T) {
	s, err := ParseScenario("rich.txtar", []byte(richScenario))
	if err != nil {
		t.Fatal(err)
	}
	want := []Turn{
		{
			Expect: &Expectation{Prompt: "{{nonce asked}}", Results: []string{"", "b"}},
			Emit: []Block{
				{Kind: KindSearch, Search: &Search{Query: "herons",
					Results: []Found{{"Herons", "https://example.com/"}}}},
				{Kind: KindCode, Code: &Code{Source: "print(6)", Output: "6\n"}},
				{Kind: KindCall, Role: "any", Fill: "{{nonce asked}}"},
			},
			Grease: []Grease{GreaseBlock}, Line: 11,
		},
		{Emit: []Block{{Kind: KindText, Text: "wait"}}, Stop: StopPause, Line: 17},
		{Emit: []Block{{Kind: KindText, Text: "go on"}}, Refuse: &Rejection{Kind: "context", Times: 1}, Line: 20},
	}
	if diff := cmp.Diff(want, s.Turns); diff != "" {
		t.Error(diff)
	}
	if s.Steps[0].Says != "{{nonce}}" {
		t.Errorf("says %q", s.Steps[0].Says)
	}
}

// TestNonce holds that a word depends on the seed and the name alone.
func TestNonce(t *testing.T) {
	if got, want := Fresh("{{nonce}} {{nonce x}} {{nonce X}} {{nonce}}", "a"),
		Nonce("a", "")+" "+Nonce("a", "x")+" {{nonce X}} "+Nonce("a", ""); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if a := Nonce("a", "x"); a == Nonce("b", "x") || a == Nonce("a", "") || len(a) != 8 {
		t.Errorf("%s, %s, %s", a, Nonce("b", "x"), Nonce("a", ""))
	}
}

func TestParseScenario(t *testing.T) {
	got, err := ParseScenario("scenarios/all-at-once.txtar", []byte(goodScenario))
	if err != nil {
		t.Fatal(err)
	}
	want := &Scenario{
		Name: "all-at-once", Why: "Agents lose thoughts.\nAnd calls.",
		Requirements: []string{"ORD-001", "SIG-001"},
		Title:        "everything at once", System: "Be brief.",
		Targets: []Target{
			{Provider: "anthropic", Model: "claude-opus-4-5", Effort: "high"},
			{Provider: "gemini", Model: "gemini-3-flash-preview"},
		},
		Steps: []Step{{Prompt: "go", Exit: ExitOK}, {Resume: true, Exit: ExitError}},
		Turns: []Turn{
			{Line: 15, Stop: StopMaxTokens, Chunks: Chunks{Sizes: []int{1, 7}}, Emit: []Block{
				{Kind: KindThinking, Parts: []string{"one", "two"}},
				{Kind: KindThinking},
				{Kind: KindRedacted, Only: []string{"anthropic"}},
				{Kind: KindText, Text: "  spaced "},
				{Kind: KindSignedText},
				{Kind: KindCall, Role: "echo", Args: []byte(`{"b": 1.0,"a":2}`)},
				{Kind: KindCall, Role: "noargs"},
			}},
			{Line: 26, Cut: &After{"anthropic": 3, "openai": 3, "gemini": 3, "chat": 3}, Chunks: Chunks{Whole: true},
				Emit: []Block{{Kind: KindText, Text: "cut here"}}},
			{Line: 30, Prompts: 2, Fail: &Failure{Kind: "overloaded", After: After{"anthropic": 4, "gemini": 1}},
				Emit: []Block{{Kind: KindText, Text: "fails here"}}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	faulty, err := ParseScenario("faulty.txtar", []byte(faultyScenario))
	if err != nil {
		t.Fatal(err)
	}
	wantTurns := []Turn{
		{Line: 9, Stop: StopRefusal, Refuse: &Rejection{Kind: "rate_limit", Retry: "date", Times: 2},
			Grease: []Grease{GreaseEvent, GreaseField}, Emit: []Block{{Kind: KindText, Text: "no"}}},
		{Line: 14, Stall: &After{"anthropic": 2, "openai": 2, "gemini": 2, "chat": 2},
			Refuse: &Rejection{Kind: "server", Times: 1}, Emit: []Block{{Kind: KindText, Text: "wait"}}},
		{Line: 18, Stop: StopMaxTokens,
			Emit: []Block{{Kind: KindCall, Role: "echo", Args: []byte(`{"te`), Partial: true}}},
		{Line: 21, Stop: StopBlocked},
	}
	if diff := cmp.Diff(wantTurns, faulty.Turns); diff != "" {
		t.Error(diff)
	}
	if _, ok := got.Target("openai"); ok {
		t.Error("a provider that is not named has a target")
	}
	if got.Turns[0].Emit[2].For("gemini") || !got.Turns[0].Emit[0].For("gemini") {
		t.Error("only does not restrict a block to its providers")
	}
}

// TestParseScenarioFaults edits the good scenario and expects one fault, with
// the line it is on.
func TestParseScenarioFaults(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"Agents lose thoughts.\nAnd calls.\n", "", "x.txtar:1: the comment must say why"},
		{"requirements: ORD-001 SIG-001\n", "", `x.txtar:2: the comment must end with a line "requirements:"`},
		{"ORD-001 SIG-001", "", "x.txtar:3: no requirement"},
		{"ORD-001 SIG-001", "ORD-1", `x.txtar:3: requirement "ORD-1" is not AREA-NNN`},
		{"ORD-001 SIG-001", "ORD-001 ORD-001", "x.txtar:3: requirement ORD-001 stands twice"},
		{"ORD-001 SIG-001", "ORD-001\nSIG-001\nand prose", `x.txtar:5: requirement "and" is not AREA-NNN`},
		{"-- scenario.yaml --", "-- script.yaml --", `x.txtar:4: unexpected file "script.yaml"`},
		{"system: Be brief.", "sistem: Be brief.", `x.txtar:6:1: key "sistem" is not known; did you mean system?`},
		{"title: everything at once\n", "", `x.txtar:5:1: key "title" is missing`},
		{"effort: high", "effort: huge",
			`x.txtar:9:47: providers.anthropic.effort: "huge" is not known; use none, low, medium`},
		{"model: claude-opus-4-5, ", "", `x.txtar:9:14: key "providers.anthropic.model" is missing`},
		{"  gemini:", "  mistral:",
			`x.txtar:8:3: providers.mistral: "mistral" is not known; use anthropic, openai, gemini`},
		{"- prompt: go", "- resume: go",
			`x.txtar:11:5: player[0]: the first step is a prompt, every other one a resume, a fork, a compact or a turn`},
		{"- prompt: go", "- exit: ok",
			`x.txtar:11:5: player[0]: needs exactly one of the keys prompt, resume, fork, turn, compact`},
		{"- text: \"  spaced \"", "- prose: x",
			`x.txtar:20:9: key "turns[0].emit[3].prose" is not known; there are call, code, only`},
		{"- text: \"  spaced \"", "- only: [openai]",
			`x.txtar:20:9: turns[0].emit[3]: needs exactly one of the keys thinking, text, signed_text, search, code, redacted, call`},
		{"redacted: true", "redacted: false",
			`x.txtar:18:19: turns[0].emit[2].redacted: "false" is not known; use true`},
		{"        only: [anthropic]", "        text: too",
			`x.txtar:18:9: turns[0].emit[2]: needs exactly one of the keys thinking, text, signed_text, search, code, redacted, call`},
		{"role: noargs", "role: shell",
			`x.txtar:23:22: turns[0].emit[6].call.role: "shell" is not known; use echo, fail, noargs`},
		{`'{"b": 1.0,"a":2}'`, `'[1]'`,
			`x.txtar:22:34: turns[0].emit[5].call.args: is not a string with a JSON object: [1]`},
		{"chunks: [1, 7]", "chunks: [0]",
			`x.txtar:25:14: turns[0].chunks[0]: "0" is not a whole number from 1, event or whole`},
		{"chunks: [1, 7]", "chunks: byte",
			`x.txtar:25:13: turns[0].chunks[0]: "byte" is not a whole number from 1, event or whole`},
		{"cut: {after: 3}", "cut: {}", `x.txtar:28:10: key "turns[1].cut.after" is missing`},
		{"cut: {after: 3}", "cut: {after: {openai: 1}}",
			`x.txtar:26:5: turns[1]: after names no event count for anthropic`},
		{"kind: overloaded", "kind: bored",
			`x.txtar:32:19: turns[2].error.kind: "bored" is not known; use overloaded, server`},
		{"prompts: 2", "prompts: 0", `x.txtar:33:14: turns[2].prompts: 0 is not a number from 1`},
		{"stop: max_tokens", "prompts: 2", `x.txtar:15:5: turns[0]: the first turn has no turn before it to replace`},
		{"chunks: whole", "error: {kind: server, after: 1}",
			`x.txtar:26:5: turns[1]: a turn has one of cut, error and stall`},
		{"chunks: whole", "stall: {after: 1}", `x.txtar:26:5: turns[1]: a turn has one of cut, error and stall`},
		{"cut: {after: 3}", "stall: {after: {openai: 1}}",
			`x.txtar:26:5: turns[1]: after names no event count for anthropic`},
		{"stop: max_tokens", "stop: bored",
			`x.txtar:24:11: turns[0].stop: "bored" is not known; use end_turn, tool_use, max_tokens`},
		{"stop: max_tokens", "stop: pause_turn",
			`x.txtar:15:5: turns[0]: gemini has no stop pause_turn; known there: end_turn, tool_use, max_tokens, refusal, content_filter, blocked_prompt`},
		{"chunks: whole", "refuse: {kind: tired}",
			`x.txtar:29:20: turns[1].refuse.kind: "tired" is not known; use rate_limit, quota, overloaded`},
		{"chunks: whole", "refuse: {retry: date}", `x.txtar:29:13: key "turns[1].refuse.kind" is missing`},
		{"chunks: whole", "refuse: {kind: image, times: 2}",
			`x.txtar:29:13: turns[1].refuse: kind image stands alone; each request is refused that has it`},
		{"chunks: whole", "refuse: {kind: server, retry: soon}",
			`x.txtar:29:35: turns[1].refuse.retry: "soon" is not known; use seconds, date, milliseconds`},
		{"chunks: whole", "grease: [oil]",
			`x.txtar:29:14: turns[1].grease[0]: "oil" is not known; use unknown_event, unknown_field, unknown_block`},
		{"chunks: whole", "grease: [duplicate_start]",
			`x.txtar:26:5: turns[1]: grease duplicate_start is for anthropic only; a scenario with it cannot be for gemini`},
		{"- prompt: go", "- {prompt: go, kill: true, interrupt: true}",
			`x.txtar:11:5: player[0]: a step has one of interrupt and kill`},
		{"- prompt: go", "- {prompt: go, effort: default}",
			`x.txtar:11:5: player[0]: effort is for a step with resume or fork: a process is started with one effort`},
		{"stop: max_tokens", "lost: true", `x.txtar:15:5: turns[0]: lost is for providers whose requests name replies`},
		{"- prompt: go", "- {prompt: go, switch: {anthropic: gpt-5.5}}",
			`x.txtar:11:5: player[0]: switch is for a step with resume or fork: a process is started with one model`},
		{"role: noargs", "role: noargs, partial: '{}'",
			`x.txtar:23:39: turns[0].emit[6].call.partial: ends in the middle of the arguments, and these are whole: {}`},
		{"call: {role: echo, args: '{\"b\": 1.0,\"a\":2}'}", "call: {role: echo, partial: '{'}",
			`x.txtar:22:9: turns[0].emit[5]: a partial call is the last block of a turn with stop: max_tokens or stop: tool_use`},
		{"      - text: cut here", "      - {text: cut here, only: [openai]}",
			`x.txtar:26:5: turns[1]: emits nothing for anthropic`},
	} {
		refused(t, "x.txtar", goodScenario, c.old, c.new, c.want)
	}
}

// isOfForm matches the faults that the schema finds as well.
var isOfForm = regexp.MustCompile("is not known|is missing|is blank|it must be|needs exactly one|is not a (whole )?number")

// refused edits a good scenario and expects a fault and its place.
func refused(t *testing.T, file, good, old, edited, want string) {
	t.Helper()
	broken := strings.Replace(good, old, edited, 1)
	if broken == good {
		t.Fatalf("the edit of %q does not apply", old)
	}
	_, err := ParseScenario(file, []byte(broken))
	var fault *datafile.Fault
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
		t.Errorf("%q for %q:\n got %v\nwant %s…", edited, old, err, want)
	}
	if isOfForm.MatchString(want) && againstSchema(t, broken) == nil {
		t.Errorf("the schema accepts %q", edited)
	}
}

// TestParseRichScenarioFaults does the same for what the provider does by itself
// and what is expected of the client.
func TestParseRichScenarioFaults(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`says: "{{nonce}}"`, `says: ""`, `x.txtar:9:11: player[0].says: is blank; write a text`},
		{`says: "{{nonce}}"`, `says: "{{nonce X}}"`,
			`x.txtar:9:11: player[0].says: a nonce is {{nonce}} or {{nonce NAME}}, its name in lower case with dashes`},
		{"Echo {{nonce asked}}.", "Echo {{nonce asked}.",
			`x.txtar:8:13: player[0].prompt: a nonce is {{nonce}} or {{nonce NAME}}, its name in lower case with dashes`},
		{`{prompt: "{{nonce asked}}", results: ["", b]}`, "{}",
			`x.txtar:11:13: turns[0].expect: an expectation has prompt, results or both`},
		{`prompt: "{{nonce asked}}", `, `prompt: "", `,
			`x.txtar:11:22: turns[0].expect.prompt: is blank; write a text`},
		{"query: herons, ", "", `x.txtar:13:17: key "turns[0].emit[0].search.query" is missing`},
		{`, url: "https://example.com/"`, "", `x.txtar:13:43: key "turns[0].emit[0].search.results[0].url" is missing`},
		{`fill: "{{nonce asked}}"`, `fill: ""`, `x.txtar:15:33: turns[0].emit[2].call.fill: is blank; write a text`},
		{`fill: "{{nonce asked}}"`, `fill: x, args: "{}"`,
			`x.txtar:15:15: turns[0].emit[2].call: has one of args, fill and partial`},
		{"- text: go on\n", "- text: go on\n    stop: pause_turn\n",
			`x.txtar:20:5: turns[2]: the turn before paused; the one that goes on does not pause again`},
		{"- emit:\n      - text: go on\n    refuse", "- refuse",
			`x.txtar:20:5: turns[2]: a turn has emit, or a stop and nothing else to say`},
		{"stop: pause_turn", "stop: blocked_prompt",
			`x.txtar:17:5: turns[1]: a prompt that is blocked gets no reply; leave emit out`},
		{"stop: pause_turn", "grease: [usage_trailer]",
			`x.txtar:17:5: turns[1]: grease usage_trailer is for gemini only; a scenario with it cannot be for anthropic`},
		{"  anthropic: {model: claude-opus-4-6}", "  {}",
			`x.txtar:6:3: providers: names no provider; name at least one of anthropic, openai, gemini`},
		{"- emit:\n      - text: wait", "- cut: {after: x}\n    emit:\n      - text: wait",
			`x.txtar:17:18: turns[1].cut.after: x is not a number from 1`},
	} {
		refused(t, "x.txtar", richScenario, c.old, c.new, c.want)
	}
	_, document, _ := strings.Cut(richScenario, "-- scenario.yaml --")
	refused(t, "x.txtar", richScenario, "-- scenario.yaml --"+document, "", "x.txtar:1: no file scenario.yaml")
	refused(t, "X.txtar", richScenario, "More", "Much more", `X.txtar:1: file name "X" is not lower case with dashes`)
	refused(t, "x.txtar", richScenario, strings.TrimPrefix(document, "\n"), "",
		`x.txtar:1: is empty; it must be a mapping with the keys limits, live, needs, player, providers, system, title, turns`)
	blocked := strings.Replace(faultyScenario, "- stop: blocked", "- emit:\n      - text: x\n    stop: blocked", 1)
	refused(t, "x.txtar", blocked, "refusal", "end_turn",
		`x.txtar:21:5: turns[3]: a prompt that is blocked gets no reply; leave emit out`)
	refusal := strings.NewReplacer("gemini: {model: gemini-3.5-flash}",
		"openai: {model: gpt-5.5}").Replace(faultyScenario)
	refused(t, "x.txtar", refusal, "- text: \"no\"", "- thinking: no",
		`x.txtar:9:5: turns[0]: a refusal of openai is a text; the turn has none`)
}

func TestTurnsAndTrafficAgree(t *testing.T) {
	head, _, _ := strings.Cut(goodScenario, "turns:")
	silent := strings.Replace(head, "  - resume: \"\"\n    exit: error\n", "    exit: unsupported\n", 1)
	if _, err := ParseScenario("x.txtar", []byte(silent)); err != nil {
		t.Error(err)
	}
	if _, err := ParseScenario("x.txtar", []byte(head)); err == nil {
		t.Error("a scenario with traffic and without turns is accepted")
	}
}

// A live scenario asks for plumbing only, and nothing else does.
func TestLiveScenario(t *testing.T) {
	head, _, _ := strings.Cut(goodScenario, "player:")
	live := head + "live: true\nplayer:\n  - prompt: go\n    calls: [echo, fail]\n  - resume: again\n"
	s, err := ParseScenario("x.txtar", []byte(live))
	if err != nil {
		t.Fatal(err)
	}
	if !s.Live || !slices.Equal(s.Steps[0].Calls, []string{"echo", "fail"}) || s.Steps[1].Calls != nil {
		t.Errorf("%+v", s)
	}
	if err := againstSchema(t, live); err != nil {
		t.Error(err)
	}
	refused(t, "x.txtar", live, "live: true\n", "",
		`x.txtar:11:3: player: a scenario has turns, unless every step ends unsupported`)
	refused(t, "x.txtar", live, "true", "yes", `x.txtar:10:7: live: is a text; it must be true or false`)
	refused(t, "x.txtar", live, "again", "again\n    says: heron",
		`x.txtar:14:5: player[1]: a step of a live scenario has neither says nor exit; nothing is known of what a model answers`)
	refused(t, "x.txtar", live, "again", "again\nturns: [{emit: [{text: x}]}]",
		`x.txtar:15:8: turns: a live scenario has no turns; the provider's model answers`)
	refused(t, "x.txtar", live, "fail]", "dance]",
		`x.txtar:13:19: player[0].calls[1]: "dance" is not known; use echo, fail, noargs`)
}

func TestLoadScenariosReportsEveryFile(t *testing.T) {
	fsys := fstest.MapFS{
		"scenarios/a.txtar": {Data: []byte("no document")},
		"scenarios/b.txtar": {Data: []byte(goodScenario)},
		"scenarios/c.txtar": {Data: nil},
	}
	_, err := LoadScenarios(fsys)
	if err == nil || !strings.Contains(err.Error(), "scenarios/a.txtar:1") ||
		!strings.Contains(err.Error(), "scenarios/c.txtar:1") {
		t.Errorf("got %v, want the faults of a and c", err)
	}
	if _, err := LoadScenarios(fstest.MapFS{}); err == nil {
		t.Error("an empty directory is a success")
	}
}

// TestEmbeddedScenarios checks what a run relies on: known requirements, all
// providers without a model for scenarios, names that differ. Scenarios for the simulator alone may have
// fewer providers.
func TestEmbeddedScenarios(t *testing.T) {
	all, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	simulated, err := Simulated()
	if err != nil {
		t.Fatal(err)
	}
	live, err := LiveScenarios()
	if err != nil {
		t.Fatal(err)
	}
	requirements, err := Requirements()
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, live...)
	named := map[string]bool{}
	for i, s := range slices.Concat(all, simulated) {
		if s.Live != slices.Contains(live, s) {
			t.Errorf("%s: live scenarios are in specs/live, and no others", s.Name)
		}
		if named[s.Name] {
			t.Errorf("%s: a name for two scenarios", s.Name)
		}
		named[s.Name] = true
		for _, id := range s.Requirements {
			if !slices.ContainsFunc(requirements, func(r Requirement) bool { return r.ID == id }) {
				t.Errorf("%s: requirement %s is not in the catalogue", s.Name, id)
			}
		}
		for _, w := range wires.All() { // a wire with a model of its own for scenarios plays what it can
			if _, isNamed := s.Target(w.Name); i < len(all) && w.Scripts.Model == "" && !isNamed &&
				!isForOneProvider(s) {
				t.Errorf("%s: is not for %s", s.Name, w.Name)
			}
		}
	}
}

// isForOneProvider reports whether a scenario shows what only one provider does.
func isForOneProvider(s *Scenario) bool {
	return slices.ContainsFunc(s.Turns, func(t Turn) bool {
		return slices.ContainsFunc(t.Grease, func(g Grease) bool {
			return slices.ContainsFunc(wires.All(),
				func(w *wires.Wire) bool { return slices.Contains(w.Scripts.Greases, string(g)) })
		})
	})
}

func FuzzParseScenario(f *testing.F) {
	for _, text := range []string{goodScenario, faultyScenario, richScenario} {
		f.Add([]byte(text))
	}
	files, err := filepath.Glob("[sl]*/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseScenario("x.txtar", data)
		var fault *datafile.Fault
		switch {
		case err != nil && !errors.As(err, &fault):
			t.Fatalf("%T: %v", err, err)
		case err == nil && (len(s.Steps) == 0 || len(s.Targets) == 0 || s.Title == ""):
			t.Fatalf("half a scenario is accepted: %+v", s)
		}
	})
}

// TestScenarioSchema holds the published schema against the parser: what one
// accepts, the other accepts. refused holds that both refuse a fault of form.
func TestScenarioSchema(t *testing.T) {
	files, err := filepath.Glob("[sl]*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"good": goodScenario, "faulty": faultyScenario, "rich": richScenario}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(data)
	}
	for name, text := range texts {
		if err := againstSchema(t, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func againstSchema(t *testing.T, text string) error {
	t.Helper()
	_, body, _ := strings.Cut(text, "-- scenario.yaml --\n")
	var doc any
	if err := yaml.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return schemas.Validate("scenario.v1", asJSON)
}

// TestPretendsLength tells a short text that is called too long from a request that is turned
// down as such a number of times.
func TestPretendsLength(t *testing.T) {
	for _, c := range []struct {
		refuse *Rejection
		want   bool
	}{
		{nil, false},
		{&Rejection{Kind: "context", Times: 1}, false},
		{&Rejection{Kind: "image", Holds: "a"}, false},
		{&Rejection{Kind: "context", Holds: "a"}, true},
	} {
		if s := (&Scenario{Turns: []Turn{{Refuse: c.refuse}}}); s.PretendsLength() != c.want {
			t.Errorf("%+v: %v", c.refuse, !c.want)
		}
	}
}
