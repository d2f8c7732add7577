package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/isolate"
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

// maxFileBytes is the largest file that the agent reads or writes through us.
const maxFileBytes = 4 << 20

// workFolder is the only folder in which the agent reads and writes files through us.
// Links do not lead out of it.
type workFolder struct {
	path string
	root *os.Root
}

func openWorkFolder(path string) (*workFolder, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, err
	}
	return &workFolder{path: path, root: root}, nil
}

// relativePath is path below the folder.
func (w *workFolder) relativePath(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s: is not an absolute path", path)
	}
	for _, base := range []string{w.path, w.root.Name()} {
		if rel, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(rel) {
			return rel, nil
		}
	}
	return "", fmt.Errorf("%s: is outside the session's folder", path)
}

// readLines returns a text file, or count lines of it from the line that is counted from 1.
// 0 is not a limit.
func (w *workFolder) readLines(path string, line, count int) (string, error) {
	rel, err := w.relativePath(path)
	if err != nil {
		return "", err
	}
	file, err := w.root.Open(rel)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, fmt.Errorf("%s: is not a regular file", path))
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("%s: is larger than %d MiB", path, maxFileBytes>>20)
	}
	if err != nil {
		return "", err
	}
	return pickLines(string(data), line, count), nil
}

func pickLines(text string, line, count int) string {
	if line <= 1 && count <= 0 {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	lines = lines[min(max(line-1, 0), len(lines)):]
	if count > 0 {
		lines = lines[:min(count, len(lines))]
	}
	return strings.Join(lines, "")
}

// writeText replaces a text file and makes the folders that it lies in.
func (w *workFolder) writeText(path, content string) error {
	rel, err := w.relativePath(path)
	if err != nil {
		return err
	}
	if len(content) > maxFileBytes {
		return fmt.Errorf("%s: would be larger than %d MiB", path, maxFileBytes>>20)
	}
	if info, err := w.root.Stat(rel); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: is not a regular file", path)
	}
	if err := w.root.MkdirAll(filepath.Dir(rel), 0o700); err != nil {
		return err
	}
	return w.root.WriteFile(rel, []byte(content), 0o600)
}

// InProcess is a [harness.Converse]: it talks to main, which speaks the protocol over its
// standard input and output, inside this process.
func InProcess(room harness.Room, main harness.Main, args, env []string) (harness.Session, error) {
	files, err := openWorkFolder(room.Work)
	if err != nil {
		return nil, err
	}
	room.Tools = harness.ToolServer{} // main has tools of its own
	start := func(ctx context.Context) (*agent, error) {
		p, stdin, stdout := startMain(ctx, main, args, env)
		return greetAgent(ctx, p, stdin, stdout, &client{permissions: Allow, files: files}, answerTimeout)
	}
	return &session{room: room, files: files, args: args, start: start}, nil
}

// mainProcess is a call of a command that runs.
type mainProcess struct {
	cancel context.CancelFunc
	ended  chan struct{}
	code   int          // once it has ended
	stderr bytes.Buffer // the same
}

// startMain calls main and returns both ends of its pipes.
func startMain(ctx context.Context, main harness.Main, args, env []string) (*mainProcess, io.WriteCloser, io.Reader) {
	ctx, cancel := context.WithCancel(ctx)
	p := &mainProcess{cancel: cancel, ended: make(chan struct{})}
	itsIn, stdin := io.Pipe()
	stdout, itsOut := io.Pipe()
	go func() {
		defer close(p.ended)
		p.code = main(ctx, args, itsIn, itsOut, &p.stderr, env)
		_, _ = itsIn.Close(), itsOut.Close() // a pipe closes without an error
	}()
	return p, stdin, stdout
}

// Stop implements process.
func (p *mainProcess) Stop() { p.cancel() }

// Wait implements process.
func (p *mainProcess) Wait() (isolate.Result, error) {
	<-p.ended
	p.cancel()
	return isolate.Result{ExitCode: p.code, Stderr: p.stderr.Bytes()}, nil
}
