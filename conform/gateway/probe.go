package gateway

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// probe is a question that no scenario asks.
type probe struct {
	name string
	// isForeign says that the probe makes sense where the wires of both sides differ, too.
	isForeign bool
	ask       func(j *judge, ctx context.Context, s *specs.Scenario, f *report.DutyCase)
}

func allProbes() []probe {
	return []probe{
		{"unknown-member", false, askUnknownMember},
		{"system-blocks", false, askSystemBlocks},
		{"tool-choice", true, askChoice},
		{"text-beside-result", true, askBeside},
		{"compressed-request", false, askCompressed},
		{"count-tokens", true, askCount},
		{"sampling", true, askSampling},
		{"slow-stream", true, askSlowly},
		{"client-leaves", true, leaveEarly},
	}
}

// askOnce asks what the scenario's first step asks and compares both sides. pace is the time between two events of the
// simulator.
func (j *judge) askOnce(ctx context.Context, f *report.DutyCase, s *specs.Scenario, pace time.Duration,
	change func(*client.Conversation)) (*client.Answer, []*received) {
	j.Upstream.Serve(newSimulator(s, pace))
	talk := j.newConversation(s, true)
	talk.MaxRounds = 1
	change(talk)
	answers := talk.Say(ctx, s.Steps[0].Prompt)
	return answers[0], j.compareAll(ctx, f, answers, nil, nil)
}

// sendOnce sends a single request outside any conversation and keeps both sides of the exchange.
func (j *judge) sendOnce(
	ctx context.Context, f *report.DutyCase, talk *client.Conversation, path string, h http.Header, body []byte,
) (*client.Answer, []*received) {
	a := talk.Send(ctx, http.MethodPost, strings.ReplaceAll(path, "{model}", talk.Model), h, body)
	seen := j.Upstream.listReceived(ctx)
	f.Exchanges = append(f.Exchanges, a.Exchange)
	for _, u := range seen {
		f.Behind = append(f.Behind, u.Exchange)
	}
	if f.Calls.Made++; len(seen) > 0 {
		f.Calls.Accepted++
	}
	return a, seen
}

// askUnknownMember asks with a member, a beta and a header that nobody knows, as the next release of
// a client does.
func askUnknownMember(j *judge, ctx context.Context, s *specs.Scenario, f *report.DutyCase) {
	f.See("GW-33")
	a, seen := j.askOnce(ctx, f, s, 0, func(talk *client.Conversation) {
		talk.Extra = []wire.Extra{{Name: "conform_probe", JSON: `{"list":[1,2],"text":"ünknown"}`}}
		if j.Wire.Has(wires.Betas) {
			talk.Header = http.Header{}
			maps.Copy(talk.Header, j.Header)
			talk.Header["Anthropic-Beta"] = []string{"conform-probe-2026-01-01,interleaved-thinking-2025-05-14"}
			talk.Header["Anthropic-Conform-Probe"] = []string{"1"}
		}
	})
	if len(seen) == 0 && a.Response.Status >= 400 {
		f.Breach("GW-33", breach{},
			"the gateway refuses a request with a member and a beta that it does not know: %d %s", a.Response.Status,
			report.Shorten(string(a.Response.Body)))
	}
}

// askSystemBlocks sends a system prompt of several blocks, one with a mark of the cache.
func askSystemBlocks(j *judge, ctx context.Context, s *specs.Scenario, f *report.DutyCase) {
	if !j.Wire.Has(wires.MarksCache) {
		return
	}
	j.askOnce(ctx, f, s, 0, func(talk *client.Conversation) {
		talk.System = ""
		talk.Extra = []wire.Extra{{Name: "system",
			JSON: `[{"type":"text","text":"x-anthropic-billing-header: conform"},` +
				`{"type":"text","text":"You are a careful test subject.","cache_control":{"type":"ephemeral"}},{"type":"text","text":" Use the tools."}]`}}
	})
}

// askChoice says which tools the model may call.
func askChoice(j *judge, ctx context.Context, s *specs.Scenario, f *report.DutyCase) {
	j.askOnce(ctx, f, s, 0, func(talk *client.Conversation) { talk.Choice = "none" })
}

// askBeside says a text beside the result of a tool, in one message, as Claude Code does with its reminders.
func askBeside(j *judge, ctx context.Context, s *specs.Scenario, f *report.DutyCase) {
	if !j.Wire.Has(wires.Blocks) {
		return
	}
	j.Upstream.Serve(newSimulator(s, 0))
	talk := j.newConversation(s, true)
	talk.MaxRounds, talk.Budget, talk.Adaptive, talk.Effort = 1, 0, false, ""
	const id = "toolu_01A09q90qw90lq917835lq9"
	talk.History = []string{wire.ClientOf(j.Wire.Name).Prompt(s.Steps[0].Prompt),
		`{"role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"conform_echo","input":{"text":"heron"}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"heron"},` +
			`{"type":"text","text":"Now answer in one word."}]}`}
	j.compareAll(ctx, f, talk.Continue(ctx), nil, nil)
}

// askCompressed sends a compressed body, as some clients do by default.
func askCompressed(j *judge, ctx context.Context, s *specs.Scenario, f *report.DutyCase) {
	f.See("GW-27")
	j.Upstream.Serve(newSimulator(s, 0))
	talk := j.newConversation(s, true)
	w := wire.ClientOf(j.Wire.Name)
	body := w.Body(&talk.Question, []string{w.Prompt(s.Steps[0].Prompt)})
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(body) // a buffer takes all
	_ = z.Close()
	path := cmp.Or(j.Wire.Models.StreamPath, j.Wire.Models.Path)
	a, seen := j.sendOnce(ctx, f, talk, path, http.Header{"Content-Encoding": {"gzip"}}, packed.Bytes())
	switch {
	case a.IsOK(), a.Response.Status == http.StatusUnsupportedMediaType:
	case len(seen) > 0 && seen[0].asked.Doc == nil && seen[0].Request.Header.Get("Content-Encoding") == "":
		f.Breach("GW-27", breach{},
			"a request body in gzip arrives upstream in gzip, without the header that says so")
	default:
		f.Breach("GW-27", breach{}, "a request body in gzip is neither decoded nor refused with 415: %d %s",
			a.Response.Status, report.Shorten(string(a.Response.Body)))
	}
}

// askCount asks how many tokens a request has.
func askCount(j *judge, ctx context.Context, s *specs.Scenario, f *report.DutyCase) {
	talk := j.newConversation(s, false)
	path := client.CountPath(j.Wire)
	if path == "" {
		return
	}
	f.See("GW-25")
	j.Upstream.Serve(newSimulator(s, 0))
	a, seen := j.sendOnce(ctx, f, talk, path, nil, client.CountBody(j.Wire, talk.Model, s.Steps[0].Prompt))
	got, _ := tree.Parse(a.Response.Body)
	switch {
	case a.Response.Status == http.StatusNotFound, a.Response.Status == http.StatusNotImplemented:
	case len(seen) == 0:
		f.Breach("GW-25", breach{Path: path},
			"the gateway counts tokens itself instead of asking the provider: %d %s", a.Response.Status,
			report.Shorten(string(a.Response.Body)))
	case a.Response.Status != seen[0].Response.Status:
		f.Breach("GW-25", breach{Path: path},
			"the upstream counted tokens with status %d, and the client got %d: %s",
			seen[0].Response.Status, a.Response.Status, report.Shorten(string(a.Response.Body)))
	case j.Wire == j.UpstreamWire && !tree.Equal(seen[0].reply.Doc, got):
		f.Breach("GW-25", breach{Path: path, Compare: compareTexts(string(seen[0].Response.Body),
			string(a.Response.Body))}, "the count of tokens is not what the upstream answered")
	}
}

// slowPace is the time between two events of a slow stream.
const slowPace = 100 * time.Millisecond

// askSlowly asks for a stream whose events come one by one.
func askSlowly(j *judge, ctx context.Context, s *specs.Scenario, f *report.DutyCase) {
	f.See("GW-17")
	a, seen := j.askOnce(ctx, f, s, slowPace, func(*client.Conversation) {})
	if len(seen) == 0 || len(a.Response.Chunks) == 0 || !a.IsOK() {
		return
	}
	first := a.Date.Add(a.Began + a.Response.Chunks[0].At)
	whole, late := seen[0].ended.Sub(seen[0].arrived), first.Sub(seen[0].arrived)
	if whole > 4*slowPace && late > whole*3/4 {
		f.Breach("GW-17", breach{},
			"the upstream sent for %d ms, and the client's first byte came after %d ms: the stream is held back",
			whole.Milliseconds(), late.Milliseconds())
	}
}

// leaveEarly leaves in the middle of a reply that does not end.
func leaveEarly(j *judge, ctx context.Context, s *specs.Scenario, f *report.DutyCase) {
	f.See("GW-22")
	endless := *s
	after := specs.After{}
	for _, t := range s.Targets {
		after[t.Provider] = 3
	}
	endless.Turns = []specs.Turn{{Emit: s.Turns[0].Emit, Stall: &after}}
	j.Upstream.Serve(newSimulator(&endless, 0))
	talk := j.newConversation(s, true)
	talk.MaxRounds = 1
	short, cancel := context.WithTimeout(ctx, leaveAfter)
	defer cancel()
	talk.Say(short, s.Steps[0].Prompt)
	for _, u := range j.Upstream.listReceived(ctx) {
		if u.ended.IsZero() {
			f.Breach("GW-22", breach{},
				"the upstream request is still open %v after the client left", settle)
			return
		}
	}
}

// leaveAfter is when the driver leaves.
const leaveAfter = time.Second
