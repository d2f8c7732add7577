package acp

import (
	"context"
	"encoding/json"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// planTool is the tool by which the model shows its plan to the client.
const planTool = "update_plan"

// planTools returns the tools that a session of a client has beside those of its
// configuration.
func (u *updater) planTools() []tool.Tool {
	return []tool.Tool{{
		Def: transcript.ToolDef{
			Name:        planTool,
			Description: "Shows the user your plan for a task of several steps. Send the whole plan each time.",
			InputSchema: transcript.RawJSON(`{"type":"object","properties":{"entries":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},"priority":{"type":"string","enum":["high","medium","low"]},"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["content","priority","status"],"additionalProperties":false}}},"required":["entries"],"additionalProperties":false}`),
		},
		Func: u.showPlan, Idempotent: true, ReadOnly: true,
	}}
}

func (u *updater) showPlan(_ context.Context, args []byte) (transcript.ToolResult, error) {
	var plan struct {
		Entries []sdk.PlanEntry `json:"entries"`
	}
	if err := json.Unmarshal(args, &plan); err != nil {
		return transcript.ToolResult{}, err
	}
	u.sendUpdate(sdk.UpdatePlan(plan.Entries...))
	return transcript.ToolResult{Content: "The user sees the plan."}, nil
}
