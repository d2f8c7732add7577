package serve

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/event"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/wires"
)

// budget bounds what a check may cost.
type budget struct {
	requests int
	tokens   int
}

// plannedRequest is a recorded request that is to be sent again.
type plannedRequest struct {
	Interaction int    `json:"interaction"`
	Provider    string `json:"provider"`
	Model       string `json:"model,omitempty"`
	Input       int    `json:"input_tokens"`         // as the recording counted, or a quarter of the bytes
	Output      int    `json:"output_tokens"`        // likewise
	Most        int    `json:"max_tokens,omitempty"` // what the request allows; 0 when it does not say
}

func (t plannedRequest) totalTokens() int { return t.Input + t.Output }

// leftOut is an interaction that is not checked, and why.
type leftOut struct {
	Interaction int    `json:"interaction"`
	Reason      string `json:"reason"`
}

// resendPlan is what a check will do.
type resendPlan struct {
	send []plannedRequest
	skip []leftOut
}

func (p resendPlan) totalTokens() (sum int) {
	for _, t := range p.send {
		sum += t.totalTokens()
	}
	return sum
}

// planResend decides which requests are sent again: in their order, each once, within the budget.
// refused returns why a request may not be sent, "" when it may.
func planResend(list []cassette.Interaction, b budget, refused func(cassette.Request) string) (p resendPlan) {
	seen := map[string]int{}
	for i, in := range list {
		t := planRequest(i, in)
		why := unsuitableReason(in)
		if why == "" {
			why = refused(in.Request)
		}
		id := in.Request.Method + " " + in.Request.URL + "\n" + string(in.Request.Body)
		first, again := seen[id]
		switch {
		case why != "":
		case again:
			why = "the same request as #" + numberText(first)
		case len(p.send) >= b.requests:
			why = "beyond --max-requests " + numberText(b.requests)
		case p.totalTokens()+t.totalTokens() > b.tokens:
			why = "about " + numberText(t.totalTokens()) + " tokens, beyond --max-tokens " + numberText(b.tokens)
		}
		if why != "" {
			p.skip = append(p.skip, leftOut{i, why})
			continue
		}
		seen[id] = i
		p.send = append(p.send, t)
	}
	return p
}

func planRequest(i int, in cassette.Interaction) plannedRequest {
	s := event.Summarise(in.Request)
	t := plannedRequest{Interaction: i, Provider: event.Provider(in.Request), Model: s.Model, Most: s.MaxTokens}
	if event.Operation(in.Request) == llm.Count {
		return t // counting is free
	}
	t.Input, t.Output = event.Tokens(event.Of(in))
	if t.Input == 0 {
		t.Input = len(in.Request.Body) / 4
	}
	if t.Output == 0 {
		t.Output = len(in.Response.Body) / 4
	}
	return t
}

// unsuitableReason returns why an interaction cannot be compared with a new reply, "" when it can.
func unsuitableReason(in cassette.Interaction) string {
	operation := event.Operation(in.Request)
	switch {
	case !slices.Contains([]llm.Operation{llm.Stream, llm.Unary, llm.Count}, operation) || in.Request.Method != http.MethodPost:
		return "asks for no reply of a model"
	case in.Response.Status == 0:
		return "has no reply to compare with"
	case in.Response.Status >= 500 || in.Response.Status == 429:
		return "was answered with " + numberText(in.Response.Status)
	case redact.HasPseudonym(in.Request.Body):
		return "its body holds a redacted secret"
	case refersBack(in.Request.Body):
		return "refers to a reply that the provider stored"
	}
	return ""
}

// refersBack reports whether a request refers to something that the provider has stored.
func refersBack(body []byte) bool {
	return slices.ContainsFunc(event.Nodes(body), func(n event.Node) bool {
		stored := n.Path == "previous_response_id" || n.Path == "conversation" || n.Path == "cachedContent" || n.Path == "container"
		return stored && n.Kind == '"'
	})
}

// withheldReason returns why a request may not be sent with these keys, "" when it may. A key
// is sent to its provider's own host or to an upstream, whatever host the cassette names:
// anyone may have written that.
func withheldReason(r cassette.Request, keys, upstream map[string]string) string {
	provider := event.Provider(r)
	u, err := url.Parse(r.URL)
	switch {
	case err != nil || provider == "":
		return "speaks to no provider"
	case upstream[provider] != "":
		return ""
	case u.Scheme != "https" || u.Host != llm.Host(provider):
		return u.Host + " takes none of the keys; name a server with --upstream " + provider + "=URL"
	case keys[provider] == "":
		return wires.Find(provider).Environment.Keys[0] + " is not set"
	}
	return ""
}
