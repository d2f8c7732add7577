package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// maxAnswerBytes is how much of what the agent says in one step is kept.
const maxAnswerBytes = 4 << 20

// client is what the agent calls: our side of the protocol. It is safe for concurrent
// use.
type client struct {
	permissions Permissions
	files       *workFolder // nil: no files
	messages    *messageReader

	mu        sync.Mutex
	sessionID string
	answer    strings.Builder // what the agent has said since the prompt
}

// handleMessage answers one request or takes one notification.
func (c *client) handleMessage(_ context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	defer c.messages.releaseSlot()
	switch method {
	case sdk.ClientMethodSessionUpdate:
		c.noteUpdate(params)
		return nil, nil
	case sdk.ClientMethodSessionRequestPermission:
		var asked struct{ Options []permissionOption }
		if err := decodeLenient(params, &asked); err != nil {
			return nil, sdk.NewInvalidParams(err.Error())
		}
		outcome := map[string]any{"outcome": "cancelled"}
		if id, ok := c.permissions.choosePermission(asked.Options); ok {
			outcome = map[string]any{"outcome": "selected", "optionId": id}
		}
		return map[string]any{"outcome": outcome}, nil
	case sdk.ClientMethodFsReadTextFile:
		var asked struct {
			Path        string
			Line, Limit int
		}
		if err := c.readFileParams(params, &asked); err != nil {
			return nil, err
		}
		content, err := c.files.readLines(asked.Path, asked.Line, asked.Limit)
		if err != nil {
			return nil, sdk.NewInvalidParams(err.Error())
		}
		return map[string]any{"content": content}, nil
	case sdk.ClientMethodFsWriteTextFile:
		var asked struct{ Path, Content string }
		if err := c.readFileParams(params, &asked); err != nil {
			return nil, err
		}
		if err := c.files.writeText(asked.Path, asked.Content); err != nil {
			return nil, sdk.NewInvalidParams(err.Error())
		}
		return map[string]any{}, nil
	}
	return nil, sdk.NewMethodNotFound(method)
}

// noteUpdate keeps the words of the answer. Other updates, thoughts and those of other
// sessions among them, are passed over.
func (c *client) noteUpdate(params json.RawMessage) {
	var note struct {
		SessionID string `json:"sessionId"`
		Update    struct {
			SessionUpdate string
			Content       json.RawMessage
		}
	}
	if decodeLenient(params, &note) != nil || note.Update.SessionUpdate != "agent_message_chunk" {
		return
	}
	var content struct{ Type, Text string }
	if decodeLenient(note.Update.Content, &content) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if note.SessionID == c.sessionID && c.answer.Len()+len(content.Text) <= maxAnswerBytes {
		c.answer.WriteString(content.Text)
	}
}

// startAnswer begins a new answer, in a session.
func (c *client) startAnswer(sessionID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessionID = sessionID
	c.answer.Reset()
}

func (c *client) saidText() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answer.String()
}

func (c *client) readFileParams(params json.RawMessage, into any) *sdk.RequestError {
	if c.files == nil {
		return sdk.NewInvalidParams("there is no session yet")
	}
	if err := json.Unmarshal(params, into); err != nil {
		return sdk.NewInvalidParams(fmt.Sprintf("cannot be read: %v", err))
	}
	return nil
}
