package acp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/provider"
	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Prompt implements sdk.Agent. A prompt ends the one that is being answered, as
// session/cancel does, and waits for its end. It returns when the model has answered; all updates have
// been sent by then.
func (c *connection) Prompt(ctx context.Context, p sdk.PromptRequest) (sdk.PromptResponse, error) {
	s, err := c.findSession(p.SessionId)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	text, parts, err := readPrompt(p.Prompt)
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	c.options.Runs.Interrupt(s.id) // the SDK has cancelled the prompt before this one already
	ctx, run, err := c.options.Runs.Begin(ctx, s.id)
	if err != nil {
		return sdk.PromptResponse{}, describeError(err)
	}
	defer run.End()
	s.turn.Lock()
	defer s.turn.Unlock()
	run.SetSession(s.id) // the prompt before this one had it
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx,
		cancel)() //nolint:contextcheck // the end of the connection, beside that of the request
	a, err := s.openAgent(ctx)
	if err != nil {
		return sdk.PromptResponse{}, describeError(err)
	}
	result, err := s.runPrompt(ctx, a.WithAttached(parts...), text)
	stop, err := stopReason(ctx, result, err)
	return sdk.PromptResponse{StopReason: stop}, err
}

func (s *openSession) runPrompt(ctx context.Context, a *meerkat.Agent, text string) (meerkat.RunResult, error) {
	if s.isStored() {
		return a.Resume(ctx, s.id, text)
	}
	result, err := a.Run(ctx, text)
	if result.SessionID != "" {
		s.mu.Lock()
		s.stored = true
		s.mu.Unlock()
	}
	return result, err
}

func (s *openSession) isStored() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored
}

// readPrompt returns the text of a prompt and the images that go with it.
func readPrompt(blocks []sdk.ContentBlock) (string, []transcript.Part, error) {
	var texts []string
	var parts []transcript.Part
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			texts = append(texts, b.Text.Text)
		case b.ResourceLink != nil:
			texts = append(texts, fmt.Sprintf("%s: %s", b.ResourceLink.Name, b.ResourceLink.Uri))
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			texts = append(texts, fmt.Sprintf("<resource uri=%q>\n%s\n</resource>", r.Uri, r.Text))
		case b.Image != nil:
			data, err := base64.StdEncoding.DecodeString(b.Image.Data)
			if err != nil {
				return "", nil, invalidParams("prompt: its image is not base64")
			}
			parts = append(parts, transcript.Part{Type: "image", MediaType: b.Image.MimeType, Data: data})
		default:
			return "", nil,
				invalidParams("prompt: it holds content of a kind that is not supported; send text, images, links or texts of resources")
		}
	}
	text := strings.Join(texts, "\n")
	if strings.TrimSpace(text) == "" {
		return "", nil, invalidParams("prompt: it is empty; say something")
	}
	return text, parts, nil
}

// stopReason returns why a prompt ended, or the error that ended it.
func stopReason(ctx context.Context, r meerkat.RunResult, err error) (sdk.StopReason, error) {
	call := (*provider.Error)(nil)
	switch {
	case err == nil:
		return sdk.StopReasonEndTurn, nil
	case ctx.Err() != nil, errors.As(err, &call) && call.Kind == provider.Cancelled:
		return sdk.StopReasonCancelled, nil
	case errors.As(err, new(*agent.TruncatedError)):
		return sdk.StopReasonMaxTokens, nil
	case errors.As(err, new(*agent.TurnLimitError)):
		return sdk.StopReasonMaxTurnRequests, nil
	case errors.As(err, new(*agent.RefusedError)), errors.As(err, &call) && call.Kind == provider.ContentFiltered:
		return sdk.StopReasonRefusal, nil
	}
	return "", describeError(err)
}

// describeError returns err as the client is to read it, nil for nil.
func describeError(err error) error {
	if err == nil {
		return nil
	}
	if refused := (*sdk.RequestError)(nil); errors.As(err, &refused) {
		return err
	}
	return sdk.NewInternalError(map[string]any{"error": err.Error(), "kind": server.ErrorKind(err)})
}
