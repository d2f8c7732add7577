package mcpfixture

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// pause lies between two notifications: the suite wants to receive them one by one.
const pause = 50 * time.Millisecond

// addNotifyingTools adds the tools that send something while they run.
func addNotifyingTools(s *sdk.Server) {
	addTool(s, "test_tool_with_logging", func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) ([]sdk.Content, error) {
		for _, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: message}); err != nil {
				return nil, err
			}
			if err := waitPause(ctx); err != nil {
				return nil, err
			}
		}
		return []sdk.Content{textContent("logged")}, nil
	})
	addTool(s, "test_tool_with_progress", func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) ([]sdk.Content, error) {
		for _, done := range []float64{0, 50, 100} {
			if token := r.Params.GetProgressToken(); token != nil {
				if err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}); err != nil {
					return nil, err
				}
			}
			if err := waitPause(ctx); err != nil {
				return nil, err
			}
		}
		return []sdk.Content{textContent("done")}, nil
	})
	addTool(s, "test_reconnection", func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) ([]sdk.Content, error) {
		if r.Extra != nil && r.Extra.CloseSSEStream != nil {
			r.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 2 * pause})
		}
		return []sdk.Content{textContent("The stream was closed before this answer.")}, waitPause(ctx)
	})
}

func waitPause(ctx context.Context) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
