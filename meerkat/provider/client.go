package provider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Client calls one provider. It is safe for concurrent use.
type Client struct {
	codec    Codec
	provider catalog.Provider
	cfg      Config
	base     *url.URL
	http     *http.Client
	sockets  *socketTransport // nil: none
	scrub    *scrubber
}

var (
	_ Completer     = (*Client)(nil)
	_ HealthChecker = (*Client)(nil)
	_ Cataloguer    = (*Client)(nil)
)

// New returns a client that speaks the format of codec. The error names what is
// wrong with cfg.
func New(codec Codec, cfg Config) (*Client, error) {
	p := codec.Provider()
	base, err := cfg.resolveBase(p.BaseURL, p.APIVersion)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	if len(p.StreamTypes) == 0 {
		p.StreamTypes = []string{"text/event-stream"}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Lookup == nil {
		cfg.Lookup = catalog.Lookup
	}
	cfg.Bounds = cfg.Bounds.withDefaults()
	c := &Client{
		codec: codec, provider: p, cfg: cfg, base: base, http: cfg.httpClient(), scrub: newScrubber(secretsOf(cfg)...),
	}
	if cfg.WebSocket && p.Traits.WebSocket {
		c.sockets = &socketTransport{Base: c.http.Transport}
		c.http.Transport = c.sockets
	}
	return c, nil
}

// Close ends the WebSockets that wait for requests. A client without Config.WebSocket needs
// no Close. It never fails.
func (c *Client) Close() error {
	if c.sockets != nil {
		c.sockets.Close()
	}
	return nil
}

// Format prints the client without its key, whatever the verb.
func (c *Client) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%s client at %s, key %s", c.provider.Name, c.base.Redacted(), describeSecret(c.cfg.APIKey))
}

// Provider returns the provider's name.
func (c *Client) Provider() string { return c.provider.Name }

// Entry returns the catalogue entry of model as Config.Lookup gives it.
func (c *Client) Entry(model string) (catalog.Entry, error) { return c.cfg.Lookup(model) }

// Render returns the body that Complete would send.
func (c *Client) Render(req *Request) ([]byte, error) {
	rendered, _, err := c.renderCall(req)
	if err != nil {
		return nil, err
	}
	return rendered.Body, nil
}

// renderCall also returns the origin of what the model will answer.
func (c *Client) renderCall(req *Request) (*Rendered, *transcript.Origin, error) {
	entry, err := c.ownEntry(req.Model)
	if err != nil {
		return nil, nil, &Error{Kind: ModelNotFound, Provider: c.provider.Name, Err: err}
	}
	rendered, err := c.codec.Render(req, entry)
	if err != nil {
		return nil, nil, &Error{Kind: InvalidRequest, Provider: c.provider.Name, Err: err}
	}
	return rendered, targetOf(req, entry).Origin(), nil
}

// ownEntry returns the entry of a model of this provider. Any other model is an
// error.
func (c *Client) ownEntry(model string) (catalog.Entry, error) {
	entry, err := c.cfg.Lookup(model)
	if err == nil && entry.Provider != c.provider.Name {
		err = &catalog.UnsupportedModel{
			Model: model, Reason: fmt.Sprintf("it is a model of %s, not of %s", entry.Provider, c.provider.Name),
			Known: knownModels(c.provider.Name),
		}
	}
	return entry, err
}

func knownModels(provider string) []string {
	var names []string
	for _, e := range catalog.Models() {
		if e.Provider == provider && e.Named {
			names = append(names, e.Name)
		}
	}
	return names
}

// Complete sends req and returns the assembled reply. Errors are *Error.
func (c *Client) Complete(ctx context.Context, req *Request, onEvent func(stream.Event)) (stream.Reply, error) {
	call, origin, err := c.renderCall(req)
	if err != nil {
		return stream.Reply{}, err
	}
	if most := c.provider.MaxRequestBytes; most > 0 && len(call.Body) > most {
		return stream.Reply{}, c.completeError(ctx, &Error{
			Kind: ContextTooLong,
			Message: fmt.Sprintf(
				"the request has %d bytes, more than the %d MB that are taken", len(call.Body), most>>20,
			),
		})
	}
	if err := c.waitForTurn(ctx); err != nil {
		return stream.Reply{}, err
	}
	unary := req.Unary || req.Compact
	ctx, clock := c.cfg.Bounds.startClock(ctx, unary)
	defer clock.stop()
	resp, err := c.sendCall(ctx, http.MethodPost, call, unary)
	if err != nil {
		return stream.Reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	origin.Account = handoff.WithOrganization(req.Account, c.organizationOf(resp.Header))
	reply, err := c.readReply(ctx, resp, unary, stream.Options{
		OnEvent: clock.watchEvents(onEvent), OnFrame: clock.onFrame, MaxLine: c.cfg.Bounds.EventBytes, Origin: origin,
		Lenient: c.cfg.Lenient,
		IDSeed:  fmt.Sprintf("%x", sha256.Sum256(call.Body)),
	})
	if err != nil {
		return stream.Reply{}, c.classifyUnread(ctx, resp, err)
	}
	reply.Account = origin.Account
	reply.RateLimits = rateLimits(resp.Header, c.cfg.Now())
	return reply, nil
}

// waitForTurn waits as the throttle says.
func (c *Client) waitForTurn(ctx context.Context) error {
	if c.cfg.Throttle == nil {
		return nil
	}
	if err := c.cfg.Throttle.Wait(ctx); err != nil {
		return c.completeError(
			ctx, &Error{Kind: Cancelled, Message: "the call waited for its turn and was not sent", Err: err},
		)
	}
	return nil
}

// sendCall makes one exchange up to the headers of an answer with status 200.
func (c *Client) sendCall(ctx context.Context, method string, call *Rendered, unary bool) (*http.Response, error) {
	if c.cfg.APIKey == "" {
		return nil, c.completeError(ctx, &Error{
			Kind: Authentication, Message: "there is no API key; set " + c.provider.KeyVariable(),
		})
	}
	req, err := c.newRequest(ctx, method, call, unary)
	if err != nil {
		return nil, c.completeError(ctx, &Error{Kind: InvalidRequest, Err: err})
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.connectionError(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer func() { _ = resp.Body.Close() }()
		return nil, c.readRefusal(ctx, resp)
	}
	return resp, nil
}

// healthTimeout bounds the question of Health.
const healthTimeout = 30 * time.Second

// Health asks whether the provider is there and takes the key. Errors are
// *Error.
func (c *Client) Health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	path, query, _ := strings.Cut(c.provider.ModelList, "?")
	resp, err := c.sendCall(ctx, http.MethodGet, &Rendered{Path: path, Query: query}, true)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if got, ok := contentType(resp); !ok || got != "application/json" {
		return c.classifyUnread(ctx, resp, c.wrongType(resp, got, "application/json"))
	}
	return nil
}

func (c *Client) newRequest(ctx context.Context, method string, call *Rendered, unary bool) (*http.Request, error) {
	u := c.base.JoinPath(call.Path)
	u.RawQuery = call.Query
	var body io.Reader
	if method == http.MethodPost {
		body = bytes.NewReader(call.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, errors.New("the request cannot be addressed: check the base URL and the model")
	}
	for _, h := range []http.Header{c.cfg.Header, call.Header} {
		for name, values := range h {
			name = http.CanonicalHeaderKey(name)
			req.Header[name] = append(req.Header[name], values...)
		}
	}
	accept := "application/json"
	if !unary {
		accept = "text/event-stream"
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", "identity") // events must not wait in a compressor
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "meerkat-go")
	c.codec.SetHeaders(req.Header, c.cfg.APIKey)
	return req, nil
}

// notAReplyError says that a 200 was not a reply of the API at all.
type notAReplyError struct{ text string }

func (e notAReplyError) Error() string { return e.text }

// readReply parses a reply with status 200.
func (c *Client) readReply(ctx context.Context, resp *http.Response, unary bool,
	opts stream.Options) (stream.Reply, error) {
	if how := resp.Header.Get("Content-Encoding"); how != "" && !strings.EqualFold(how, "identity") {
		return stream.Reply{}, notAReplyError{fmt.Sprintf(
			"the reply is compressed (%s), which was not asked for; check the base URL", excerptOf([]byte(how)),
		)}
	}
	want := c.provider.StreamTypes
	if unary {
		want = []string{"application/json"}
	}
	if got, ok := contentType(resp); !ok || got != "" && !slices.Contains(want, got) {
		return stream.Reply{}, c.wrongType(resp, got, want[0])
	}
	if !unary {
		return c.readStream(ctx, resp.Body, opts)
	}
	most := c.cfg.Bounds.ReplyBytes
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	if err != nil {
		return stream.Reply{}, c.connectionError(ctx, err)
	}
	if len(body) > most {
		return stream.Reply{}, c.cfg.Bounds.bytesError()
	}
	return c.codec.ParseReply(body, opts)
}

// readStream feeds the parser as bytes arrive.
func (c *Client) readStream(ctx context.Context, body io.Reader, opts stream.Options) (stream.Reply, error) {
	parser := c.codec.NewParser(opts)
	buf := make([]byte, 32<<10)
	for total := 0; ; {
		n, err := body.Read(buf)
		if total += n; total > c.cfg.Bounds.ReplyBytes {
			return stream.Reply{}, c.cfg.Bounds.bytesError()
		}
		if n > 0 {
			if _, werr := parser.Write(buf[:n]); werr != nil {
				return parser.Close() // the rest cannot matter any more
			}
		}
		if errors.Is(err, io.EOF) {
			return parser.Close()
		}
		if err != nil {
			return stream.Reply{}, c.connectionError(ctx, err)
		}
	}
}

// contentType returns the media type of resp, "" when it names none.
func contentType(resp *http.Response) (string, bool) {
	h := resp.Header.Get("Content-Type")
	if h == "" {
		return "", true
	}
	t, _, err := mime.ParseMediaType(h)
	return t, err == nil
}

// wrongType explains a 200 of another kind: an error object that a gateway
// wrapped in success, or a document that no provider API sends.
func (c *Client) wrongType(resp *http.Response, got, want string) error {
	head, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	head = c.scrub.scrubBytes(head)
	if e := c.codec.ParseError(head); e.Type != "" || e.Code != "" {
		return &stream.ProviderError{Type: e.Type, Code: e.Code, Message: e.Message, Raw: head}
	}
	if got == "" {
		got = "an unreadable content type"
	}
	return notAReplyError{fmt.Sprintf(
		"the answer is %s, not %s; check that the base URL is the API's (it begins %q)", got, want, excerptOf(head),
	)}
}
