// Package gemini speaks generateContent and streamGenerateContent: it renders a
// conversation, sends it, and reads the reply, streamed or whole.
package gemini

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/call"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// Config says where the API is and what opens it.
type Config = call.Config

// Client speaks the Gemini Developer API. It is safe for concurrent use.
type Client struct{ calls *call.Caller }

var (
	_ provider.Client        = (*Client)(nil)
	_ provider.HealthChecker = (*Client)(nil)
)

// New returns a client. The error names what is wrong with cfg.
func New(cfg Config) (*Client, error) {
	calls, err := call.New(call.API{
		Provider:  catalog.Gemini,
		BaseURL:   "https://generativelanguage.googleapis.com",
		Version:   "v1beta",
		KeyName:   "GEMINI_API_KEY",
		Authorize: func(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) },
		// A host that ignores alt=sse sends the same chunks as a JSON array
		// (reference §1.3).
		Streams: []string{"text/event-stream", "application/json"},
		Parser:  NewParser,
		Reply:   ParseReply,
		Health:  "models", HealthQuery: "pageSize=1",
	}, cfg)
	if err != nil {
		return nil, err
	}
	return &Client{calls}, nil
}

// Provider returns "gemini".
func (c *Client) Provider() string { return catalog.Gemini }

// Format prints the client without its key, whatever the verb.
func (c *Client) Format(f fmt.State, verb rune) { c.calls.Format(f, verb) }

// Render returns the body that Complete would send.
func (c *Client) Render(req *provider.Request) ([]byte, error) {
	p, err := c.plan(req)
	if err != nil {
		return nil, err
	}
	return p.body(), nil
}

func (c *Client) plan(req *provider.Request) (*plan, error) {
	m, err := c.calls.Lookup(req.Model)
	if err != nil {
		return nil, err
	}
	p, err := newPlan(req, m)
	if err != nil {
		return nil, c.calls.Refuse(err)
	}
	return p, nil
}

// Complete sends req and returns the assembled reply. The key travels in a
// header, never in the URL.
func (c *Client) Complete(ctx context.Context, req *provider.Request, onEvent func(stream.Event)) (stream.Reply, error) {
	p, err := c.plan(req)
	if err != nil {
		return stream.Reply{}, err
	}
	method, query := "streamGenerateContent", "alt=sse"
	if req.Unary {
		method, query = "generateContent", ""
	}
	return c.calls.Do(ctx, call.Post{
		Path:    "models/" + url.PathEscape(req.Model) + ":" + method,
		Query:   query,
		Body:    p.body(),
		Unary:   req.Unary,
		Options: stream.Options{OnEvent: onEvent, Origin: p.target.Origin()},
	})
}

// Health asks for the list of models, which needs the key and costs nothing.
func (c *Client) Health(ctx context.Context) error { return c.calls.Health(ctx) }
