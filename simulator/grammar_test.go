package simulator

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/specs"
)

// eachTurn calls f with the turns of all embedded scenarios for every provider, or a sample
// of them. Each is a scenario of that turn alone, which answers a first request.
func eachTurn(t *testing.T, oneOf int, f func(t *testing.T, one *specs.Scenario, target specs.Target)) {
	t.Helper()
	chosen, all := corpus.Sample(t, oneOf), []*specs.Scenario{everyScenario(t), faultyScenario(t)}
	for _, embedded := range []func() ([]*specs.Scenario, error){specs.Scenarios, specs.Simulated} {
		list, err := embedded()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
	}
	for _, s := range all {
		for _, target := range s.Targets {
			if streams[target.Provider] == nil {
				continue // package client and the rules of replies judge what the wire says
			}
			for turn := range s.Turns {
				if isMalformed(s.Turns[turn]) || !chosen() {
					continue // what the model wrote there is no JSON, in streams only
				}
				one := only(s, turn)
				t.Run(fmt.Sprintf("%s/%s/%d", s.Name, target.Provider, turn), func(t *testing.T) { f(t, one, target) })
			}
		}
	}
}

// isMalformed reports whether the turn calls a tool with arguments that are not JSON.
func isMalformed(t specs.Turn) bool {
	return t.Stop == specs.StopTool && slices.ContainsFunc(t.Emit, func(b specs.Block) bool { return b.Partial })
}

// only is s reduced to one turn, which takes any request and does not turn it
// down first.
func only(s *specs.Scenario, turn int) *specs.Scenario {
	one := *s
	one.Turns = slices.Clone(s.Turns[turn : turn+1])
	one.Turns[0].Prompts, one.Turns[0].Refuse, one.Turns[0].Expect, one.Turns[0].Agent = 0, nil, nil, ""
	return &one
}

// changed is a scenario of one turn with that turn changed.
func changed(s *specs.Scenario, change func(*specs.Turn)) *specs.Scenario {
	one := *s
	one.Turns = slices.Clone(s.Turns)
	change(&one.Turns[0])
	return &one
}

// whole is the turn as it would be if nothing broke off.
func whole(t *specs.Turn) {
	t.Cut, t.Stall, t.Fail, t.Grease, t.Chunks = nil, nil, nil, nil, specs.Chunks{}
}

// forms are the ways to ask a provider for an answer.
func forms(provider string) []string {
	if provider == "gemini" {
		return []string{"stream", "unary", "array"}
	}
	return []string{"stream", "unary"}
}

// first sends a first request in a form, without a network. A cut panics, as it
// does in a server.
func first(t *testing.T, s *specs.Scenario, target specs.Target, form string) (status int, body []byte) {
	t.Helper()
	w := firstResponse(t, s, target, form)
	return w.Code, w.Body.Bytes()
}

// firstResponse is first, and returns the headers as well.
func firstResponse(t *testing.T, s *specs.Scenario, target specs.Target, form string) *httptest.ResponseRecorder {
	t.Helper()
	name := target.Provider
	if form == "array" {
		name = "gemini-array"
	}
	r := asks[name]("http://sim", 0, form != "unary")
	w := httptest.NewRecorder()
	func() {
		defer func() { _ = recover() }()
		New(Config{Scenario: s, Seed: "grammar"}).ServeHTTP(w, suited(r, target))
	}()
	return w
}

// suited is the request for the target's model, with every tool that scenarios
// call and the provider's own.
func suited(r *http.Request, target specs.Target) *http.Request {
	body, _ := io.ReadAll(r.Body)
	for _, model := range []string{"claude-opus-4-6", "gpt-5.5", "gemini-3.5-flash"} {
		body = bytes.ReplaceAll(body, []byte(`"`+model+`"`), []byte(`"`+target.Model+`"`))
		r.URL.Path = strings.ReplaceAll(r.URL.Path, model, target.Model)
	}
	for _, role := range []string{"fail", "awkward", "slow", "large", "image", "agent", "await"} {
		for _, edit := range [][2]string{
			{`"tools":[{"name":`, `"tools":[{"name":"conform_` + role + `","input_schema":{"type":"object"}},{"name":`},
			{`"tools":[{"type":`, `"tools":[{"type":"function","name":"conform_` + role +
				`","parameters":{"type":"object"}},{"type":`},
			{`"functionDeclarations":[`, `"functionDeclarations":[{"name":"conform_` + role +
				`","description":"A tool."},`},
		} {
			body = bytes.Replace(body, []byte(edit[0]), []byte(edit[1]), 1)
		}
	}
	for _, edit := range [][2]string{
		{`],"messages"`,
			`,{"type":"web_search_20250305","name":"web_search"},{"type":"code_execution_20250825","name":"code_execution"}],"messages"`},
		{`],"input"`, `,{"type":"web_search"},{"type":"code_interpreter","container":{"type":"auto"}}],"input"`},
		{`],"contents"`,
			`,{"googleSearch":{}},{"codeExecution":{}}],"toolConfig":{"includeServerSideToolInvocations":true},"contents"`},
		{`{"type":"adaptive"}`, `{"type":"adaptive","display":"summarized"}`},
	} {
		body = bytes.Replace(body, []byte(edit[0]), []byte(edit[1]), 1)
	}
	if strings.Contains(target.Model, "-4-5") {
		body = bytes.Replace(body, []byte(`"adaptive"`), []byte(`"enabled","budget_tokens":1024`), 1)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}

// sound fails the test for each breach.
func sound(t *testing.T, found []breach) {
	t.Helper()
	for _, b := range found {
		t.Errorf("%s: %s", b.rule, b.what)
	}
}

// TestGrammar holds that every turn of every scenario keeps to the grammar and
// the schemas in every form, that all forms say the same, and that how a stream
// is cut into writes changes no byte of it.
func TestGrammar(t *testing.T) {
	eachTurn(t, 3, func(t *testing.T, one *specs.Scenario, target specs.Target) {
		intact := changed(one, whole)
		spoken := map[string]speech{}
		for _, form := range forms(target.Provider) {
			status, body := first(t, intact, target, form)
			if status != 200 {
				t.Fatalf("%s: status %d: %s", form, status, body)
			}
			sound(t, judged(target.Provider, form, leave{}, body))
			spoken[form] = saidIn(target.Provider, form, body)
			for _, chunks := range []specs.Chunks{{Whole: true}, {Sizes: []int{1}}, {Sizes: []int{7, 1, 64}}} {
				if _, again := first(t, changed(intact, func(t *specs.Turn) { t.Chunks = chunks }), target, form); !bytes.Equal(again, body) {
					t.Errorf("%s: cut as %v it has other bytes", form, chunks)
				}
			}
		}
		for form, what := range spoken {
			if diff := cmp.Diff(spoken["unary"], what); diff != "" && one.Turns[0].Stop != specs.StopMaxTokens {
				t.Errorf("unary and %s differ: %s", form, diff)
			}
		}
	})
}

// TestGrammarGreased holds what may stand in an answer beside the grammar, and
// that it is there.
func TestGrammarGreased(t *testing.T) {
	type grease struct {
		kind specs.Grease
		leave
	}
	all := []grease{{specs.GreaseEvent, leave{events: true}}, {specs.GreaseField, leave{}},
		{specs.GreaseBlock, leave{blocks: true}}}
	own := map[string][]grease{
		"anthropic": {{specs.GreaseStart, leave{twice: true}}},
		"gemini":    {{specs.GreaseStop, leave{stop: true}}, {specs.GreaseUsage, leave{usage: true}}},
	}
	eachTurn(t, 3, func(t *testing.T, one *specs.Scenario, target specs.Target) {
		intact := changed(one, whole)
		if len(intact.Turns[0].Emit) == 0 {
			return // nothing is said for anything to stand beside
		}
		_, plain := first(t, intact, target, "stream")
		for _, g := range append(all, own[target.Provider]...) {
			greased := changed(intact, func(t *specs.Turn) { t.Grease = []specs.Grease{g.kind} })
			_, body := first(t, greased, target, "stream")
			if bytes.Equal(body, plain) {
				t.Errorf("%s changes nothing", g.kind)
			}
			sound(t, judged(target.Provider, "stream", g.leave, body))
		}
	})
}

// TestGrammarBroken holds that what breaks off is a shorter beginning of the
// whole, and what fails ends in the provider's error.
func TestGrammarBroken(t *testing.T) {
	eachTurn(t, 3, func(t *testing.T, one *specs.Scenario, target specs.Target) {
		for _, form := range forms(target.Provider) {
			if one.Turns[0].Stall != nil {
				return // stays open; TestStall has it
			}
			status, body := first(t, one, target, form)
			switch turn := one.Turns[0]; {
			case turn.Fail != nil && form == "unary":
				if !inShape(target.Provider, status, body) {
					t.Errorf("status %d: %s", status, body)
				}
			case turn.Fail != nil:
				sound(t, judged(target.Provider, form, leave{fails: true}, body))
			case turn.Cut != nil:
				if _, complete := first(t, changed(one, whole), target, form); len(body) >= len(complete) ||
					!bytes.HasPrefix(complete, body) {
					t.Errorf("%s: the cut answer has %d bytes, the whole one %d; it must be a shorter beginning", form,
						len(body), len(complete))
				}
			}
		}
	})
}

// saidIn folds an answer that keeps to the grammar.
func saidIn(provider, form string, body []byte) speech {
	j := &judge{}
	var all []event
	switch form {
	case "stream":
		all = j.sse(provider, body)
	case "array":
		all = j.array(body)
	default:
		all = []event{j.document(body)}
	}
	switch {
	case provider == "gemini":
		return saidByChunks(all)
	case provider == "openai" && form == "unary":
		return saidInResponse(all[0])
	case provider == "openai":
		return saidByResponse(all)
	case form == "unary":
		return saidInMessage(all[0])
	}
	return saidByMessages(all)
}
