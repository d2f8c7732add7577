package tool

import (
	"context"
	"errors"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// errHosted answers a call that the provider should have run.
var errHosted = errors.New("the provider runs this tool itself; it cannot be called as a function")

// Hosted returns the offer of a tool that the provider runs itself, one of
// [transcript.HostedTools]. Its calls and results stand in the reply, and no call of it
// reaches the agent: neither approval nor limits of time and size apply to them.
func Hosted(name string) Tool {
	return Tool{
		Def: transcript.ToolDef{Name: name, Description: "Run by the provider.", Hosted: true},
		Func: func(context.Context, []byte) (transcript.ToolResult, error) {
			return transcript.ToolResult{}, errHosted
		},
		ReadOnly: true,
	}
}
