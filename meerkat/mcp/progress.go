package mcp

import (
	"context"
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/meerkat-go/conformance/meerkat/tool"
)

// progressRouter leads what servers say about running calls to those calls.
type progressRouter struct {
	mu    sync.Mutex
	last  int
	calls map[string]context.Context
}

// registerCall returns a token for the call of ctx, and what to do when it has ended.
func (p *progressRouter) registerCall(ctx context.Context) (token string, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	token = "call-" + strconv.Itoa(p.last)
	if p.calls == nil {
		p.calls = map[string]context.Context{}
	}
	p.calls[token] = ctx
	return token, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.calls, token)
	}
}

// reportProgress reports progress to its call; what belongs to none is dropped.
func (p *progressRouter) reportProgress(m *sdk.ProgressNotificationParams) {
	token, _ := m.ProgressToken.(string)
	p.mu.Lock()
	ctx := p.calls[token]
	p.mu.Unlock()
	if ctx != nil {
		tool.Report(ctx, tool.Progress{Done: m.Progress, Total: m.Total, Message: m.Message})
	}
}
