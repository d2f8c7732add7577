package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

type startArgs struct {
	Tool           string          `json:"tool"`
	Arguments      json.RawMessage `json:"arguments"`
	Name           string          `json:"name"`
	TimeoutSeconds int             `json:"timeout_seconds"`
}

// startTool starts a tool call that outlives the turn.
func (s toolset) startTool(_ context.Context, c Caller, in startArgs) (any, error) {
	if err := checkBackgroundTool(c.Defs, in.Tool); err != nil {
		return nil, err
	}
	spec := OperationSpec{
		Kind: ToolCall, Label: in.Name, Tool: in.Tool, Arguments: in.Arguments,
		Policy: OperationPolicy{Timeout: time.Duration(in.TimeoutSeconds) * time.Second},
	}
	started, err := c.submitAll([]OperationSpec{spec}, nil)
	if err != nil {
		return nil, err
	}
	return started[0], nil
}

// checkBackgroundTool returns why a tool cannot be called in the background: there is no
// such tool, it acts on operations and returns at once, or the provider runs it.
func checkBackgroundTool(defs []transcript.ToolDef, name string) error {
	if IsOperationTool(name) || name == fetchTool {
		return fmt.Errorf("tool %s: it works on operations and cannot be one; call it directly", name)
	}
	var known []string
	for _, d := range defs {
		if d.Hosted && d.Name == name {
			return fmt.Errorf("tool %s: the provider runs it itself; it cannot be called in the background", name)
		}
		if !d.Hosted && !IsOperationTool(d.Name) && d.Name != fetchTool {
			known = append(known, d.Name)
		}
	}
	if !slices.Contains(known, name) {
		return fmt.Errorf("tool %.80q: there is no such tool; %s", name, spelling.Advice(name, known))
	}
	return nil
}
