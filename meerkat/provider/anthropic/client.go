// Package anthropic speaks the Messages API (reference §2.1, §3.1): it renders a
// conversation, sends it, and reads the reply, streamed or whole.
package anthropic

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/provider/call"
	"github.com/meerkat-go/conformance/meerkat/stream"
)

// Config says where the API is and what opens it.
type Config = call.Config

// Client speaks the Messages API. It is safe for concurrent use.
type Client struct {
	calls *call.Caller
	betas []string
}

var (
	_ provider.Client        = (*Client)(nil)
	_ provider.HealthChecker = (*Client)(nil)
)

const (
	apiVersion      = "2023-06-01"
	interleavedBeta = "interleaved-thinking-2025-05-14"
	betaHeader      = "Anthropic-Beta"
)

// New returns a client. The error names what is wrong with cfg.
func New(cfg Config) (*Client, error) {
	betas := betasOf(cfg.Header)
	cfg.Header = cfg.Header.Clone()
	cfg.Header.Del(betaHeader)
	calls, err := call.New(call.API{
		Provider: catalog.Anthropic,
		BaseURL:  "https://api.anthropic.com",
		Version:  "v1",
		KeyName:  "ANTHROPIC_API_KEY",
		Authorize: func(h http.Header, key string) {
			h.Set("X-Api-Key", key)
			h.Set("Anthropic-Version", apiVersion) // mandatory
		},
		Streams: []string{"text/event-stream"},
		Parser:  NewParser,
		Reply:   ParseReply,
		Health:  "models", HealthQuery: "limit=1",
		MaxBody: 32 << 20,
	}, cfg)
	if err != nil {
		return nil, err
	}
	return &Client{calls: calls, betas: betas}, nil
}

// betasOf splits the values of anthropic-beta, which may be repeated or joined
// by commas.
func betasOf(h http.Header) []string {
	var betas []string
	for _, line := range h.Values(betaHeader) {
		for beta := range strings.SplitSeq(line, ",") {
			if beta = strings.TrimSpace(beta); beta != "" {
				betas = append(betas, beta)
			}
		}
	}
	return betas
}

// Provider returns "anthropic".
func (c *Client) Provider() string { return catalog.Anthropic }

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
		Path:    "messages",
		Header:  c.headers(p),
		Body:    p.body(),
		Unary:   req.Unary,
		Options: stream.Options{OnEvent: onEvent, Origin: p.target.Origin()},
	})
}

// headers joins the interleaved-thinking beta with the others by commas while
// thinking is on (seed 000 §3.5, D-7).
func (c *Client) headers(p *plan) http.Header {
	betas := slices.Clone(c.betas)
	if p.thinking && p.target.Model.InterleavedHeader && !slices.Contains(betas, interleavedBeta) {
		betas = append(betas, interleavedBeta)
	}
	h := http.Header{}
	if len(betas) > 0 {
		h.Set(betaHeader, strings.Join(betas, ","))
	}
	return h
}

// Health asks for the list of models, which needs the key and costs nothing.
func (c *Client) Health(ctx context.Context) error { return c.calls.Health(ctx) }
