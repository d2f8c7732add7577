package gateway

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/decide"
	"github.com/meerkat-go/conformance/conform/lint"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// samplingValues are what the probe asks with beside the length limit. Of two parameters that a model does not take
// together the first is sent.
var samplingValues = []struct {
	name  wires.Sampling
	value string
}{
	{wires.StopTexts, `["</block>","</severity>"]`}, {wires.Temperature, "0.25"}, {wires.TopP, "0.75"},
	{wires.TopK, "20"}, {wires.Seed, "7"},
}

// askSampling asks with every sampling parameter that both wires have and the client's model takes.
func askSampling(j *judge, ctx context.Context, s *specs.Scenario, f *report.DutyCase) {
	j.Upstream.Serve(newSimulator(nil, 0))
	talk := j.newConversation(s, false)
	talk.Question = wire.Question{Model: talk.Model, MaxTokens: 512}
	client := wire.ClientOf(j.Wire.Name)
	body := client.Body(&talk.Question, []string{client.Prompt("Say hello.")})
	for _, v := range samplingValues {
		if paths := j.Wire.Body.Sampling[v.name]; paths != nil && j.UpstreamWire.Body.Sampling[v.name] != nil &&
			takesMember(j.Wire, talk.Model, body, paths[0], v.value) {
			body = addMember(body, paths[0], v.value)
		}
	}
	a, seen := j.sendOnce(ctx, f, talk, j.Wire.Models.Path, nil, body)
	if len(seen) > 0 && seen[0].asked.Doc != nil {
		f.See("GW-39")
		c := comparer{DutyCase: f, Config: j.Config, asked: asked{answer: a}}
		c.compareSampling(seen[0])
	}
}

// compareSampling holds that the sampling parameters that both wires have arrive with their values. A parameter
// that the upstream's model refuses may be left out.
func (c *comparer) compareSampling(u *received) {
	for _, name := range slices.Sorted(maps.Keys(c.Wire.Body.Sampling)) {
		was, path := findSampling(c.Wire, c.answer.ReadRequest().Doc, name)
		paths := c.UpstreamWire.Body.Sampling[name]
		if was == nil || paths == nil {
			continue
		}
		at := breach{Path: path, Consequence: specs.Degraded}
		if name == wires.LengthLimit || name == wires.StopTexts {
			at.Consequence = specs.Wrong
		}
		isTaken := func(path string) bool {
			return takesMember(c.UpstreamWire, u.asked.Model, u.Request.Body, path, was.Raw())
		}
		switch is, _ := findSampling(c.UpstreamWire, u.asked.Doc, name); {
		case is == nil && slices.ContainsFunc(paths, isTaken):
			c.Breach("GW-39", at, "the parameter %s does not arrive upstream", path)
		case is == nil || tree.Equal(was, is) || name == wires.StopTexts && slices.Equal(stringsIn(was), stringsIn(is)):
		default:
			at.Compare = compareTexts(was.Raw(), is.Raw())
			c.Breach("GW-39", at, "the parameter %s was changed on its way upstream", path)
		}
	}
}

// findSampling returns a sampling parameter of a body and its path; nil if the body does not set the parameter.
func findSampling(w *wires.Wire, body *tree.Node, name wires.Sampling) (value *tree.Node, path string) {
	for _, path := range w.Body.Sampling[name] {
		n := body
		for step := range strings.SplitSeq(path, ".") {
			n = n.Any(step, tree.Snake(step))
		}
		if n != nil {
			return n, path
		}
	}
	return nil, ""
}

// takesMember reports whether a model takes one more member in a body, as far as is known.
func takesMember(w *wires.Wire, model string, body []byte, path, value string) bool {
	failures := func(body []byte) (n int) {
		found, _ := lint.Request(lint.Target{Provider: w.Name, Model: model}, body) // a body that cannot be judged has no findings
		for _, f := range found.Findings {
			if f.Verdict == decide.Fail {
				n++
			}
		}
		return n
	}
	return failures(addMember(body, path, value)) <= failures(body)
}

// addMember writes a member into a body that is one JSON object, with the objects on the path to the member.
func addMember(body []byte, path, value string) []byte {
	at, _ := tree.Parse(body)
	steps := strings.Split(path, ".")
	for len(steps) > 1 {
		next := at.Any(steps[0], tree.Snake(steps[0]))
		if !next.Is(tree.Object) {
			break
		}
		at, steps = next, steps[1:]
	}
	for last := len(steps) - 1; last > 0; last-- {
		value = `{` + wire.Quote(steps[last]) + `:` + value + `}`
	}
	member := wire.Quote(steps[0]) + `:` + value
	if len(at.Names()) > 0 {
		member += ","
	}
	begin := at.Offset() + 1
	return slices.Concat(body[:begin], []byte(member), body[begin:])
}
