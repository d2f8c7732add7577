package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/conform/client"
	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/conform/toolserver"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// playable are what the driver can do of what scenarios need.
var playable = []specs.Ability{specs.AbilityTools, specs.AbilityResume, specs.AbilityTurns, specs.AbilityModel,
	specs.AbilitySystem, specs.AbilityImages, specs.AbilityCache, specs.AbilityMCP}

// scenariosFor returns the embedded scenarios that the driver can play on a wire with another behind
// the gateway, in order of name.
func scenariosFor(front, behind *wires.Wire) ([]*specs.Scenario, error) {
	all, err := specs.Scenarios()
	if err != nil {
		return nil, err
	}
	simulated, err := specs.Simulated()
	if err != nil {
		return nil, err
	}
	all = append(all, simulated...)
	all = slices.DeleteFunc(all, func(s *specs.Scenario) bool {
		_, speaks := s.Target(front.Name)
		_, answers := s.Target(behind.Name)
		return !speaks || !answers || s.Limits.Turns > 0 ||
			slices.ContainsFunc(s.Needs(), func(a specs.Ability) bool { return !slices.Contains(playable, a) }) ||
			slices.ContainsFunc(s.Turns, func(t specs.Turn) bool { return t.Stall != nil || t.Lost }) ||
			slices.ContainsFunc(s.Steps, func(step specs.Step) bool {
				return step.Fork || step.Compact || step.Interrupt || step.Kill || step.NewKey || step.Switch != nil ||
					step.Attach != "" || step.Exit == specs.ExitUnsupported
			})
	})
	slices.SortFunc(all, func(a, b *specs.Scenario) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// isBroken reports whether a scenario breaks streams, which says nothing of replies in one piece.
func isBroken(s *specs.Scenario) bool {
	return slices.ContainsFunc(s.Turns, func(t specs.Turn) bool {
		return t.Cut != nil || t.Fail != nil || t.Chunks.Sizes != nil || t.Grease != nil
	})
}

// maxRetries is how often the driver asks again where a scenario expects that a failure passes.
const maxRetries = 3

// playSteps lets a conversation go through the steps of a scenario.
func playSteps(ctx context.Context, s *specs.Scenario, talk *client.Conversation) (answers []*client.Answer) {
	for _, step := range s.Steps {
		var images []wire.Image
		if step.Image {
			images = toolserver.Run("conform_image", "{}").Images
		}
		answers = append(answers, talk.Say(ctx, specs.Fresh(step.Prompt, seed), images...)...)
		for range maxRetries {
			if step.Exit == specs.ExitError || answers[len(answers)-1].IsOK() || ctx.Err() != nil {
				break
			}
			answers = append(answers, talk.Continue(ctx)...)
		}
	}
	return answers
}

// seed is that of the simulator's tokens and of made-up words.
const seed = "gateway"

// newSimulator answers by a scenario, at its strictest. Where the scenario needs the cache, the provider
// caches by itself what the gateway does not mark.
func newSimulator(s *specs.Scenario, pace time.Duration) http.Handler {
	h := simulator.New(simulator.Config{Scenario: s, Seed: seed, AnyModel: true, Pace: pace})
	if s == nil || !slices.Contains(s.Needs(), specs.AbilityCache) {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // an Upstream has read it before
		if strings.HasSuffix(r.URL.Path, "/messages") && !bytes.Contains(body, []byte(`"cache_control"`)) {
			body = addMember(body, "cache_control", `{"type":"ephemeral"}`)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		h.ServeHTTP(w, r)
	})
}

// offeredTools are the tools of a conversation. Where the scenario needs MCP, they have names as agents give
// to tools of MCP servers, each as long as every provider takes.
func offeredTools(s *specs.Scenario) []wire.ToolDefinition {
	tools := toolserver.Tools()
	if slices.Contains(s.Needs(), specs.AbilityMCP) {
		for i := range tools {
			const server = "mcp__plugin_conformance-tools_a-server-with-a-long-name"
			tools[i].Name = server[:longestName-len("__"+tools[i].Name)] + "__" + tools[i].Name
		}
	}
	return tools
}

// longestName is how long the name of a tool may be for every provider.
const longestName = 64

// newConversation is that of a scenario's target with the gateway, or with whatever the transport leads to.
func (j *judge) newConversation(s *specs.Scenario, isStream bool) *client.Conversation {
	target, _ := s.Target(j.Wire.Name)
	model := cmp.Or(j.Model, target.Model)
	talk := &client.Conversation{
		Server: client.Server{Wire: j.Wire, Base: j.Base, Key: j.ClientKey, Transport: j.transport,
			Timeout: j.Timeout, Header: j.Header},
		Question: wire.Question{Model: model, System: s.System, Stream: isStream, Tools: offeredTools(s)},
	}
	if j.Wire == j.UpstreamWire { // the client knows the model that is asked in the end
		talk.Model = cmp.Or(j.models[model], model)
	}
	client.AskToThink(&talk.Question, j.Wire.Name, target.Effort)
	talk.Model = model
	return talk
}

// askDirectly plays a scenario without the gateway, with a client of either wire: what the provider says to it.
func (j *judge) askDirectly(ctx context.Context, s *specs.Scenario, w *wires.Wire, isStream bool) []*client.Answer {
	here := *j
	here.Wire = w
	talk := here.newConversation(s, isStream)
	target, _ := s.Target(w.Name)
	talk.Base, talk.Key, talk.Transport = "http://127.0.0.1/"+w.Name, j.UpstreamKey,
		simulator.Transport(newSimulator(s, 0))
	if talk.Model = target.Model; w == j.UpstreamWire {
		front, _ := s.Target(j.Wire.Name)
		talk.Model = cmp.Or(j.models[cmp.Or(j.Model, front.Model)], target.Model)
	}
	return playSteps(ctx, s, talk)
}

// isPlayable reports whether the driver says what the scenario expects of a client.
func (j *judge) isPlayable(ctx context.Context, s *specs.Scenario) bool {
	isExpected := true
	talk := j.newConversation(s, true)
	target, _ := s.Target(j.Wire.Name)
	talk.Base, talk.Model = "http://127.0.0.1/"+j.Wire.Name, target.Model
	talk.Transport = simulator.Transport(simulator.New(simulator.Config{Scenario: s, Seed: seed, AnyModel: true,
		Mismatch: func(*script.Mismatch) { isExpected = false }}))
	playSteps(ctx, s, talk)
	return isExpected
}

// playCase plays one scenario through the gateway and compares both sides of each request.
func (j *judge) playCase(ctx context.Context, f *report.DutyCase, s *specs.Scenario, isStream bool) {
	direct := j.askDirectly(ctx, s, j.Wire, isStream)
	var behind []*client.Answer
	if j.Wire != j.UpstreamWire {
		behind = j.askDirectly(ctx, s, j.UpstreamWire, isStream)
	}
	j.Upstream.Serve(newSimulator(s, 0))
	answers := playSteps(ctx, s, j.newConversation(s, isStream))
	j.compareAll(ctx, f, answers, direct, behind)
}

// compareAll pairs the requests of both sides and compares them.
func (j *judge) compareAll(ctx context.Context, f *report.DutyCase, answers, direct,
	behind []*client.Answer) []*received {
	seen := j.Upstream.listReceived(ctx)
	for i, a := range answers {
		c := comparer{DutyCase: f, Config: j.Config, asked: asked{n: i, answer: a}}
		for _, u := range seen {
			if !u.arrived.Before(a.Date) && (i+1 == len(answers) || u.arrived.Before(answers[i+1].Date)) &&
				u.asked != nil {
				c.upstream = append(c.upstream, u)
			}
		}
		if i < len(direct) {
			c.direct = direct[i]
		}
		if i < len(behind) {
			c.behind = behind[i]
		}
		c.compareSides()
		f.Exchanges = append(f.Exchanges, a.Exchange)
		if f.Calls.Made++; len(c.upstream) > 0 {
			f.Calls.Accepted++
		}
		for _, u := range c.upstream {
			f.Behind = append(f.Behind, u.Exchange)
		}
	}
	return seen
}

// Keep writes the exchanges of each case as two cassettes in a folder: CASE.client.yaml is what the
// client and the gateway said, CASE.upstream.yaml what the gateway and the simulator said. Credentials
// are taken out as in every recording.
func (o *Outcome) Keep(dir, tool string) error {
	for _, d := range o.Cases {
		path := filepath.Join(dir, filepath.FromSlash(d.Name))
		err := errors.Join(keepSide(path+".client.yaml", tool, d.Exchanges),
			keepSide(path+".upstream.yaml", tool, d.Behind))
		if err != nil {
			return err
		}
	}
	return nil
}

func keepSide(path, tool string, exchanges []evidence.Exchange) error {
	if len(exchanges) == 0 {
		return nil // as upstream of a gateway that answers itself
	}
	redactor := redact.New(nil)
	w, err := cassette.Create(path, cassette.Meta{
		Provenance: cassette.ProvenanceSimulator, Tool: tool, Created: time.Now().UTC().Format(time.RFC3339),
		Redaction: redactor.Rules(),
	}, cassette.CreateOptions{Force: true})
	if err != nil {
		return err
	}
	for _, x := range exchanges {
		in := x.ToInteraction()
		in.Ingress, in.End = cassette.IngressBaseURL, cassette.EndEOF
		for _, c := range x.Response.Chunks {
			in.Timeline = append(in.Timeline, cassette.Chunk{At: c.At, Length: c.Length})
		}
		if x.Response.End == "reset" {
			in.End = cassette.EndReset
		}
		if err := w.Append(redactor.Interaction(in)); err != nil {
			return errors.Join(err, w.Discard())
		}
	}
	return w.Close()
}

// Bytes of context that comparisons show.
const (
	textContext  = 32
	tokenContext = 4
)

func compareTexts(was, is string) *decide.Comparison {
	c := decide.Compare(was, is, textContext)
	return &c
}

// compareTokens shows too little of a token to use it.
func compareTokens(was, is string) *decide.Comparison {
	c := decide.Compare(was, is, min(tokenContext, len(was)/8))
	return &c
}
