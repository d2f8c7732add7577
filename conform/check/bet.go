package check

import (
	"net/url"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// betaRules judge betas beyond the members of a request, which PAR-011 judges, and what
// clouds take in the place of headers (R53).
var betaRules = map[string]rule{
	"BET-001/history":      historyHasBeta,
	"BET-002/tool-version": toolHasBeta,
	"BET-003/version":      cloudVersion,
	"BET-003/address":      cloudAddress,
	"BET-004/same-betas":   betasStay,
}

// betaBlocks are the blocks that only a beta knows, and the betas, without their dates,
// of which one has to be asked for.
var betaBlocks = map[string][]string{
	"mcp_tool_use": {"mcp-client"}, "mcp_tool_result": {"mcp-client"},
	"compaction": {"compact"}, "fallback": {"server-side-fallback"},
}

// eachBetaRequest calls f for every request to the public API of Anthropic whose betas
// were recorded.
func (s *Trace) eachBetaRequest(f func(x *exchange, betas []string)) {
	s.eachRequest(func(x *exchange) {
		if betas := betasOf(x); betas != nil && x.isPublicAPI() {
			f(x, betas)
		}
	})
}

func hasBeta(betas, prefixes []string) bool {
	return slices.ContainsFunc(betas, func(b string) bool { return hasPrefixOf(b, prefixes) })
}

// historyHasBeta: blocks that a beta brought stay in the history, and its header with
// them (R53).
func historyHasBeta(s *Trace, r *report) {
	s.eachBetaRequest(func(x *exchange, betas []string) {
		for i := range x.req.Items {
			it := &x.req.Items[i]
			wanted := betaBlocks[it.Type]
			if wanted == nil {
				continue
			}
			r.addObserved(1)
			if !hasBeta(betas, wanted) {
				r.addFinding(x, it.Place, "R53", "a %s block belongs to the beta %s, which anthropic-beta does not name", it.Type, strings.Join(wanted, " or "))
			}
		}
	})
}

// betaTools are tools by their dated types, and the one beta that each belongs to.
var betaTools = map[string]string{
	"computer_20241022": "computer-use-2024-10-22", "bash_20241022": "computer-use-2024-10-22", "text_editor_20241022": "computer-use-2024-10-22",
	"computer_20250124": "computer-use-2025-01-24", "computer_20251124": "computer-use-2025-11-24",
	"mcp_toolset": "mcp-client-2025-11-20",
}

// toolHasBeta: a tool and its beta are of one date.
func toolHasBeta(s *Trace, r *report) {
	s.eachBetaRequest(func(x *exchange, betas []string) {
		for j, t := range x.req.Tools.List() {
			kind := t.Get("type").Text()
			wanted := betaTools[kind]
			if wanted == "" {
				continue
			}
			r.addObserved(1)
			if !slices.Contains(betas, wanted) {
				r.addFinding(x, wire.Place{Event: -1, Off: t.Offset(), Path: elementPath("tools", j)}, "R53", "the tool %s belongs to the beta %s, and anthropic-beta names %s", kind, wanted, namesOrNone(betas))
			}
		}
	})
}

func namesOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return cutText(strings.Join(names, ", "), 120)
}

// cloud is a cloud that serves Claude under its own address.
type cloud struct {
	name string
	// version is what anthropic_version in the body has to say.
	version string
	// absent are the members that stand in the address instead.
	absent []string
}

// cloudOf returns the cloud that a request of the Messages API went to, false for another
// host.
func cloudOf(x *exchange) (cloud, bool) {
	u, err := url.Parse(x.Request.URL)
	if err != nil || !x.wire.Has(wires.Betas) {
		return cloud{}, false
	}
	switch host := strings.ToLower(u.Hostname()); {
	case strings.HasSuffix(u.Path, "awPredict") && strings.Contains(u.Path, "/publishers/anthropic/models/"):
		return cloud{"Vertex AI", "vertex-2023-10-16", []string{"model"}}, true
	case strings.HasPrefix(host, "bedrock-runtime.") && strings.Contains(u.Path, "/invoke"):
		return cloud{"Amazon Bedrock", "bedrock-2023-05-31", []string{"model", "stream"}}, true
	}
	return cloud{}, false
}

// cloudVersion: clouds want the version in the body.
func cloudVersion(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		c, ok := cloudOf(x)
		if !ok {
			return
		}
		r.addObserved(1)
		if version, at := x.member("anthropic_version"); version.Text() != c.version {
			r.addFinding(x, at, "", "%s wants anthropic_version %q in the body, and it is %q", c.name, c.version, cutText(version.Text(), 40))
		}
	})
}

// cloudAddress: the model, and with Bedrock the wish for a stream, stand in the address.
func cloudAddress(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		c, ok := cloudOf(x)
		if !ok {
			return
		}
		r.addObserved(1)
		for _, name := range c.absent {
			if v, at := x.member(name); v != nil {
				r.addFinding(x, at, "A-5", "%s has %s in the address and refuses it in the body", c.name, name)
			}
		}
	})
}

// turnBetas are betas, without their dates, that decide how a turn goes on: whether the
// model thinks between calls, and how much it can read. Others come and go with the
// members that they belong to.
var turnBetas = []string{"interleaved-thinking-", "context-1m-"}

// betasStay: a turn goes on with the betas that it began with.
func betasStay(s *Trace, r *report) {
	s.eachNext(func(then, now *exchange) {
		was, is := betasOf(then), betasOf(now)
		if len(was) == 0 || is == nil || then.turn != now.turn || now.atOtherHost() || then.req.Model != now.req.Model {
			return
		}
		for _, b := range was {
			if !hasPrefixOf(b, turnBetas) {
				continue
			}
			r.addObserved(1)
			if !slices.Contains(is, b) {
				r.addFinding(now, headerPlace("anthropic-beta"), "", "the turn began with the beta %q, which its next request does not ask for (exchange %d)", cutText(b, 60), then.Index)
			}
		}
	})
}
