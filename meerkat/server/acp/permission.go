package acp

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Mode says which calls of tools wait for the client's permission. The tools on offer
// are the same in all modes.
type Mode string

// The modes of a session.
const (
	// ModeAsk asks before each call of a tool that does not say that it only reads.
	ModeAsk Mode = "ask"
	// ModeAuto asks before none.
	ModeAuto Mode = "auto"
	// ModeReadOnly refuses each call that ModeAsk would ask about.
	ModeReadOnly Mode = "read-only"
)

// Modes lists the modes, the safest default first.
func Modes() []Mode { return []Mode{ModeAsk, ModeAuto, ModeReadOnly} }

// describeMode says what a mode does.
func describeMode(m Mode) string {
	switch m {
	case ModeAuto:
		return "Run all tools without asking"
	case ModeReadOnly:
		return "Refuse tools that may change something"
	default:
		return "Ask before a tool may change something"
	}
}

// The answers that a client can give.
const (
	optionAllow  = "allow"
	optionAlways = "allow-always"
	optionReject = "reject"
)

// approveCall implements tool.Approve.
func (s *openSession) approveCall(ctx context.Context, call transcript.ToolCall, traits tool.Traits) error {
	s.mu.Lock()
	mode, allowed := s.mode, s.allowed[call.Name]
	s.mu.Unlock()
	switch {
	case traits.ReadOnly || mode == ModeAuto:
		return nil
	case mode == ModeReadOnly:
		return fmt.Errorf("the session is in the mode read-only, and the tool %s may change something", call.Name)
	case allowed:
		return nil
	}
	answer, err := s.conn.client.RequestPermission(ctx, sdk.RequestPermissionRequest{
		SessionId: sdk.SessionId(s.id),
		ToolCall: sdk.ToolCallUpdate{
			ToolCallId: s.updates.toolCallID(call.ID), Title: new(call.Name), RawInput: rawValue(call.Args),
		},
		Options: []sdk.PermissionOption{
			{OptionId: optionAllow, Kind: sdk.PermissionOptionKindAllowOnce, Name: "Allow"},
			{OptionId: optionAlways, Kind: sdk.PermissionOptionKindAllowAlways, Name: "Always allow " + call.Name},
			{OptionId: optionReject, Kind: sdk.PermissionOptionKindRejectOnce, Name: "Reject"},
		},
	})
	switch {
	case err != nil:
		return errors.New("the client gave no permission")
	case answer.Outcome.Selected == nil:
		return errors.New("the user cancelled")
	}
	switch answer.Outcome.Selected.OptionId {
	case optionAlways:
		s.mu.Lock()
		s.allowed[call.Name] = true
		s.mu.Unlock()
		return nil
	case optionAllow:
		return nil
	}
	return errors.New("the user rejected this call")
}
