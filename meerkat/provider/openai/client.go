// Package openai speaks the Responses API: it renders a conversation, sends it,
// and reads the reply, streamed or whole.
package openai

import (
	"context"
	"fmt"
	"net/http"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/call"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// Config says where the API is and what opens it. By custom its base URL ends
// in /v1.
type Config = call.Config

// Client speaks the Responses API. It is safe for concurrent use.
type Client struct{ calls *call.Caller }

var (
	_ provider.Client        = (*Client)(nil)
	_ provider.HealthChecker = (*Client)(nil)
)

// New returns a client. The error names what is wrong with cfg.
func New(cfg Config) (*Client, error) {
	calls, err := call.New(call.API{
		Provider:  catalog.OpenAI,
		BaseURL:   "https://api.openai.com/v1",
		Version:   "v1",
		KeyName:   "OPENAI_API_KEY",
		Authorize: func(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) },
		Streams:   []string{"text/event-stream"},
		Parser:    NewParser,
		Reply:     ParseReply,
		Health:    "models",
	}, cfg)
	if err != nil {
		return nil, err
	}
	return &Client{calls}, nil
}

// Provider returns "openai".
func (c *Client) Provider() string { return catalog.OpenAI }

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

// Complete sends req and returns the assembled reply.
func (c *Client) Complete(ctx context.Context, req *provider.Request, onEvent func(stream.Event)) (stream.Reply, error) {
	p, err := c.plan(req)
	if err != nil {
		return stream.Reply{}, err
	}
	return c.calls.Do(ctx, call.Post{
		Path:    "responses",
		Body:    p.body(),
		Unary:   req.Unary,
		Options: stream.Options{OnEvent: onEvent, Origin: p.target.Origin()},
	})
}

// Health asks for the list of models, which needs the key and costs nothing.
func (c *Client) Health(ctx context.Context) error { return c.calls.Health(ctx) }
