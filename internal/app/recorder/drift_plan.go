package recorder

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
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
	case !slices.Contains([]llm.Operation{llm.Stream, llm.Unary, llm.Count}, operation) ||
		in.Request.Method != http.MethodPost:
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
		stored := n.Path == "previous_response_id" || n.Path == "conversation" || n.Path == "cachedContent" ||
			n.Path == "container"
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

// standInKey is the key that is sent to an --upstream when the environment has none: servers that
// stand in for a provider need one, whatever it is.
const standInKey = "recorder-refresh-check"

// checkUpstreamsEncrypted returns an error where a key would be sent over a network unencrypted.
func checkUpstreamsEncrypted(upstream, keys map[string]string) error {
	for provider, base := range upstream {
		u, err := url.Parse(base)
		if err != nil || u.Scheme == "https" || keys[provider] == "" || isLoopback(u.Hostname()) {
			continue
		}
		return cli.Usage("--upstream %s=%s: would send %s unencrypted; use https, or unset the key", provider, base,
			wires.Find(provider).Environment.Keys[0])
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// sender sends recorded requests again.
type sender struct {
	transport http.RoundTripper
	keys      map[string]string
	maxBytes  int64
	timeout   time.Duration
	now       func() time.Time
}

var errTooLong = errors.New("the reply is longer than --max-bytes")

// resendRequest sends a recorded request again and returns the reply. Of a reply that broke off it
// returns what came, and an error.
func (s *sender) resendRequest(ctx context.Context, r cassette.Request) (in cassette.Interaction, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	in.Request = r
	request, err := s.newRequest(ctx, r)
	if err != nil {
		return in, err
	}
	start := s.now()
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		return in, err
	}
	defer func() { _ = response.Body.Close() }()
	in.Response = cassette.Response{Status: response.StatusCode, Proto: response.Proto, Header: response.Header}
	err = s.readBody(&in, response.Body)
	in.Response.Trailer, in.Duration = response.Trailer, s.now().Sub(start)
	if in.End = cassette.EndEOF; err != nil {
		in.End = cassette.EndReset
	}
	return in, err
}

// readBody reads the body of a reply into in, with the times of its chunks.
func (s *sender) readBody(in *cassette.Interaction, body io.Reader) error {
	start, piece := s.now(), make([]byte, 32<<10)
	for {
		n, err := body.Read(piece)
		if n > 0 {
			in.Response.Body = append(in.Response.Body, piece[:n]...)
			in.Timeline = append(in.Timeline, cassette.Chunk{At: s.now().Sub(start), Length: n})
		}
		switch {
		case int64(len(in.Response.Body)) > s.maxBytes:
			return errTooLong
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// askedParameters are the parameters of a URL that say how to reply.
var askedParameters = []string{"alt", "beta"}

// newRequest returns a recorded request with a key in place of the pseudonym. It has only those
// headers and parameters that decide how the provider replies.
func (s *sender) newRequest(ctx context.Context, r cassette.Request) (*http.Request, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: is not a URL", r.URL)
	}
	query := url.Values{}
	for _, name := range askedParameters {
		if values := u.Query()[name]; values != nil {
			query[name] = values
		}
	}
	u.User, u.Fragment, u.RawQuery = nil, "", query.Encode()
	request, err := http.NewRequestWithContext(ctx, r.Method, u.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	for _, name := range RequestHeaders {
		if values := r.Header[name]; values != nil {
			request.Header[name] = values
		}
	}
	request.Header.Set("Accept-Encoding", "identity")
	provider := event.Provider(r)
	llm.SetKey(request.Header, provider, cmp.Or(s.keys[provider], standInKey))
	return request, nil
}
