package call

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
	"time"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// API describes one provider to a Caller.
type API struct {
	Provider string
	BaseURL  string // the provider's own address
	Version  string // the API version in its paths
	KeyName  string // environment variable to name when the key is missing
	// Authorize puts the key into the headers.
	Authorize func(h http.Header, key string)
	// Streams lists the content types of streamed replies.
	Streams []string
	Parser  func(stream.Options) stream.Parser
	Reply   func([]byte, stream.Options) (stream.Reply, error)
	// Health is the path and query of a cheap GET that needs the key.
	Health, HealthQuery string
	// MaxBody is the largest request in bytes that the provider takes; 0 when
	// none is known.
	MaxBody int
}

// Caller makes calls to one API. It is safe for concurrent use.
type Caller struct {
	api    API
	cfg    Config
	base   *url.URL
	http   *http.Client
	scrub  *scrubber
	lookup func(string) (catalog.Entry, error)
}

// New returns a Caller for api. The error names what is wrong with cfg.
func New(api API, cfg Config) (*Caller, error) {
	base, err := cfg.base(api.BaseURL, api.Version)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", api.Provider, err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Lookup == nil {
		cfg.Lookup = catalog.Lookup
	}
	return &Caller{api: api, cfg: cfg, base: base, http: cfg.client(), scrub: newScrubber(secretsOf(cfg)...), lookup: cfg.Lookup}, nil
}

// Format prints the caller without its key, whatever the verb.
func (c *Caller) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%s client at %s, key %s", c.api.Provider, c.base.Redacted(), hidden(c.cfg.APIKey))
}

// Lookup returns the entry of model, an error of this provider when the model
// is unknown or belongs to another one.
func (c *Caller) Lookup(model string) (catalog.Entry, error) {
	m, err := c.lookup(model)
	if err == nil && m.Provider != c.api.Provider {
		err = &catalog.UnsupportedModel{
			Model: model, Reason: fmt.Sprintf("it is a model of %s, not of %s", m.Provider, c.api.Provider),
			Known: known(c.api.Provider),
		}
	}
	if err != nil {
		return m, &provider.Error{Kind: provider.ModelNotFound, Provider: c.api.Provider, Err: err}
	}
	return m, nil
}

func known(provider string) []string {
	var names []string
	for _, e := range catalog.Models() {
		if e.Provider == provider && e.Named {
			names = append(names, e.Name)
		}
	}
	return names
}

// Refuse wraps the error of a request that was not sent.
func (c *Caller) Refuse(err error) error {
	return &provider.Error{Kind: provider.InvalidRequest, Provider: c.api.Provider, Err: err}
}

// Post is one call: a path below the API version, a body, and how the answer
// is read.
type Post struct {
	Path    string
	Query   string
	Header  http.Header
	Body    []byte
	Unary   bool
	Options stream.Options
}

// Do makes the call. Errors are *provider.Error.
func (c *Caller) Do(ctx context.Context, p Post) (stream.Reply, error) {
	if most := c.api.MaxBody; most > 0 && len(p.Body) > most {
		return stream.Reply{}, c.fail(ctx, &provider.Error{
			Kind: provider.ContextTooLong, Message: fmt.Sprintf("the request has %d bytes, more than the %d MB that are taken", len(p.Body), most>>20),
		})
	}
	resp, err := c.send(ctx, http.MethodPost, p)
	if err != nil {
		return stream.Reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	p.Options.Lenient = c.cfg.Lenient
	p.Options.IDSeed = fmt.Sprintf("%x", sha256.Sum256(p.Body))
	reply, err := c.read(ctx, resp, p)
	if err != nil {
		return stream.Reply{}, c.unread(ctx, resp, err)
	}
	reply.RateLimits = rateLimits(resp.Header, c.cfg.Now())
	return reply, nil
}

// send makes one exchange up to the headers of an answer with status 200.
func (c *Caller) send(ctx context.Context, method string, p Post) (*http.Response, error) {
	if c.cfg.APIKey == "" {
		return nil, c.fail(ctx, &provider.Error{
			Kind: provider.Authentication, Message: "there is no API key; set " + c.api.KeyName,
		})
	}
	req, err := c.request(ctx, method, p)
	if err != nil {
		return nil, c.fail(ctx, &provider.Error{Kind: provider.InvalidRequest, Err: err})
	}
	if c.cfg.Throttle != nil {
		if err := c.cfg.Throttle.Wait(ctx); err != nil {
			return nil, c.fail(ctx, &provider.Error{Kind: provider.Cancelled, Message: "the call waited for its turn and was not sent", Err: err})
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer func() { _ = resp.Body.Close() }()
		return nil, c.refused(ctx, resp)
	}
	return resp, nil
}

// Health asks whether the provider is there and takes the key. Errors are
// *provider.Error.
func (c *Caller) Health(ctx context.Context) error {
	resp, err := c.send(ctx, http.MethodGet, Post{Path: c.api.Health, Query: c.api.HealthQuery, Unary: true})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if got, ok := contentType(resp); !ok || got != "application/json" {
		return c.unread(ctx, resp, c.wrongType(resp, got, "application/json"))
	}
	return nil
}

func (c *Caller) request(ctx context.Context, method string, p Post) (*http.Request, error) {
	u := c.base.JoinPath(p.Path)
	u.RawQuery = p.Query
	var body io.Reader
	if method == http.MethodPost {
		body = bytes.NewReader(p.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return nil, errors.New("the request cannot be addressed: check the base URL and the model")
	}
	for _, h := range []http.Header{c.cfg.Header, p.Header} {
		for k, v := range h {
			req.Header[http.CanonicalHeaderKey(k)] = slices.Clone(v)
		}
	}
	accept := "application/json"
	if !p.Unary {
		accept = "text/event-stream"
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", "identity") // events must not wait in a compressor
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "meerkat-go")
	c.api.Authorize(req.Header, c.cfg.APIKey)
	return req, nil
}

// maxReply bounds a reply that is read at once.
const maxReply = 256 << 20

// errShape says that a 200 was no reply of the API at all.
type errShape struct{ text string }

func (e errShape) Error() string { return e.text }

// read parses a reply with status 200.
func (c *Caller) read(ctx context.Context, resp *http.Response, p Post) (stream.Reply, error) {
	want := c.api.Streams
	if p.Unary {
		want = []string{"application/json"}
	}
	if got, ok := contentType(resp); !ok || got != "" && !slices.Contains(want, got) {
		return stream.Reply{}, c.wrongType(resp, got, want[0])
	}
	if !p.Unary {
		return c.stream(ctx, resp.Body, p.Options)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return stream.Reply{}, c.broken(ctx, err)
	}
	if len(body) > maxReply {
		return stream.Reply{}, errShape{fmt.Sprintf("the reply is larger than %d bytes", maxReply)}
	}
	return c.api.Reply(body, p.Options)
}

// stream feeds the parser as bytes arrive.
func (c *Caller) stream(ctx context.Context, body io.Reader, opts stream.Options) (stream.Reply, error) {
	parser := c.api.Parser(opts)
	buf := make([]byte, 32<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			if _, werr := parser.Write(buf[:n]); werr != nil {
				return parser.Close() // the rest cannot matter any more
			}
		}
		if errors.Is(err, io.EOF) {
			return parser.Close()
		}
		if err != nil {
			return stream.Reply{}, c.broken(ctx, err)
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
// wrapped in success, or something that is no API at all.
func (c *Caller) wrongType(resp *http.Response, got, want string) error {
	head, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	head = c.scrub.bytes(head)
	if e := parseError(head); e.Type != "" || e.Code != "" {
		return &stream.ProviderError{Type: e.Type, Code: e.Code, Message: e.Message, Raw: head}
	}
	if got == "" {
		got = "an unreadable content type"
	}
	return errShape{fmt.Sprintf("the answer is %s, not %s; check that the base URL is the API's (it begins %q)", got, want, excerpt(head))}
}
