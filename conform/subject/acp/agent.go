// Package acp judges agents that speak the Agent Client Protocol, as editors start
// them: JSON-RPC over stdin and stdout, protocol version 1.
//
// [New] starts the agent once, asks it what it can do and returns a
// [harness.Subject]:
//
//	agent, err := acp.New(ctx, acp.Config{Args: []string{"opencode", "acp"}})
//	outcome, err := harness.Run(ctx, harness.Options{Subject: agent})
//
// In a case, each step is a session/prompt. A step that resumes starts another process
// and loads the session there; a step that goes on asks the same process; a step that
// is interrupted sends session/cancel. The agent gets our MCP server and may read and
// write files in the work folder of the case. Permissions are answered by a
// [Permissions] policy. What the agent says is the output of the step.
//
// The package promises: an agent that dies, floods, writes garbage or never answers
// ends the step with an exit code and one sentence, within the time limits.
package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/wires"
)

// Time limits of what an agent must answer. A whole prompt is bounded by the case.
const (
	answerTimeout = 90 * time.Second
	cancelTimeout = 20 * time.Second
	// endTimeout is how long an agent may take to end when its input has ended.
	endTimeout = 2 * time.Second
)

// agent is one running process of the agent and the connection to it. One goroutine
// uses it at a time.
type agent struct {
	client  *client
	process process
	stdin   io.Closer
	input   watchedWriter
	conn    *sdk.Connection
	hello   hello
	timeout time.Duration   // of what must be answered
	result  *isolate.Result // once it has ended
	stopped bool            // it did not end when its input did
}

// process is what runs the agent: a program, or this one.
type process interface {
	// Stop ends it.
	Stop()
	// Wait returns how it ended, once.
	Wait() (isolate.Result, error)
}

// launchAgent starts the agent as a program and says hello to it. The error is a *failure
// or says that the program could not be started.
func launchAgent(ctx context.Context, sandbox *isolate.Sandbox, command isolate.Command, c *client,
	timeout time.Duration) (*agent, error) {
	p, err := sandbox.Start(ctx, command)
	if err != nil {
		return nil, err
	}
	return greetAgent(ctx, p, p.Stdin, p.Stdout, c, timeout)
}

// greetAgent says hello to an agent that runs. The error is a *failure.
func greetAgent(ctx context.Context, p process, stdin io.WriteCloser, stdout io.Reader, c *client,
	timeout time.Duration) (*agent, error) {
	c.messages = newMessageReader(stdout)
	ready := make(chan struct{})
	a := &agent{client: c, process: p, stdin: stdin, input: watchedWriter{out: stdin}, timeout: timeout}
	a.conn = sdk.NewConnection(c.handleMessage, &a.input, &gatedReader{ready: ready, in: c.messages})
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	close(ready)
	if err := a.sayHello(ctx); err != nil {
		return nil, a.endBecause(err)
	}
	return a, nil
}

// gatedReader holds back what the connection reads until its logger is set.
type gatedReader struct {
	ready <-chan struct{}
	in    *messageReader
}

// Read implements io.Reader.
func (g *gatedReader) Read(p []byte) (int, error) {
	<-g.ready
	return g.in.Read(p)
}

// watchedWriter remembers that a write has failed: the SDK then answers as the agent
// would that refuses.
type watchedWriter struct {
	out    io.Writer
	failed atomic.Bool
}

// Write implements io.Writer.
func (w *watchedWriter) Write(p []byte) (int, error) {
	n, err := w.out.Write(p)
	if err != nil {
		w.failed.Store(true)
	}
	return n, err
}

func (a *agent) sayHello(ctx context.Context) error {
	err := a.callMethod(ctx, sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "conform", Version: "1"},
		ClientCapabilities: sdk.ClientCapabilities{Fs: sdk.FileSystemCapabilities{ReadTextFile: true,
			WriteTextFile: true}},
	}, &a.hello)
	if err == nil && a.hello.ProtocolVersion != sdk.ProtocolVersionNumber {
		err = fmt.Errorf("speaks version %d of the Agent Client Protocol, conform speaks %d", a.hello.ProtocolVersion,
			sdk.ProtocolVersionNumber)
	}
	return err
}

// callMethod sends a request and reads the answer into answer, which may be nil. The time
// limit ends the process, because an agent that does not answer one request will not
// answer the next.
func (a *agent) callMethod(ctx context.Context, method string, params, answer any) error {
	limited, cancel := context.WithTimeoutCause(ctx, a.timeout,
		fmt.Errorf("did not answer %s within %v", method, a.timeout))
	defer cancel()
	return a.callWithin(limited, method, params, answer)
}

// callWithin is callMethod without a time limit of its own.
func (a *agent) callWithin(limited context.Context, method string, params, answer any) error {
	stop := context.AfterFunc(limited, a.process.Stop) // also frees a write that blocks
	raw, err := sdk.SendRequest[json.RawMessage](a.conn, limited, method, params)
	if !stop() && limited.Err() != nil {
		return context.Cause(limited)
	}
	if err == nil && answer != nil {
		if err = decodeLenient(raw, answer); err != nil {
			return fmt.Errorf("answered %s with %s: %w", method, isolate.QuoteBeginning(raw), err)
		}
	}
	if refused := (*sdk.RequestError)(nil); errors.As(err, &refused) {
		return &refusal{method: method, RequestError: refused}
	}
	return err
}

// refusal is an error that the agent answered with, or what the SDK says of a
// connection that has ended.
type refusal struct {
	method string
	*sdk.RequestError
}

// Error says what was refused, and the agent's words.
func (r *refusal) Error() string {
	text := fmt.Sprintf("refused %s: %s", r.method, r.Message)
	for _, member := range []string{"details", "message", "error"} {
		if data, ok := r.Data.(map[string]any); ok && data[member] != nil {
			return fmt.Sprintf("%s: %v", text, data[member])
		}
	}
	return text
}

// needsAuthentication reports whether an agent wants its user to authenticate first.
func needsAuthentication(err error) bool {
	const authenticationRequired = -32000
	refused := (*refusal)(nil)
	return errors.As(err, &refused) && refused.Code == authenticationRequired
}

// openSession opens a session, with an API key if the agent asks for one.
func (a *agent) openSession(ctx context.Context, method string, params any) (opened, error) {
	var session opened
	err := a.callMethod(ctx, method, params, &session)
	if !needsAuthentication(err) {
		return session, err
	}
	with, ok := keyMethod(a.hello.AuthMethods)
	if !ok {
		return session, fmt.Errorf("asks its user to log in and offers no way with an API key (offered: %s)",
			methodNames(a.hello.AuthMethods))
	}
	if err := a.callMethod(ctx, sdk.AgentMethodAuthenticate, sdk.AuthenticateRequest{MethodId: with.ID}, nil); err != nil {
		return session, err
	}
	return session, a.callMethod(ctx, method, params, &session)
}

// setting is a change of a session's settings.
type setting struct {
	method string
	params map[string]any
}

// applySettings changes the settings of a session. An agent that refuses one keeps its
// own.
func (a *agent) applySettings(ctx context.Context, settings []setting) error {
	for _, s := range settings {
		err := a.callMethod(ctx, s.method, s.params, nil)
		if refused := (*refusal)(nil); err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	return nil
}

// promptSession asks and waits for the end of the answer. When interrupt is closed the prompt
// is called off. It returns why the agent stopped.
func (a *agent) promptSession(ctx context.Context, sessionID, text string, interrupt <-chan struct{}) (reason string,
	err error) {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := make(chan struct{})
	defer close(over)
	if interrupt != nil {
		go a.cancelWhen(limited, cancel, sessionID, interrupt, over)
	}
	var answer struct{ StopReason string }
	err = a.callWithin(limited, sdk.AgentMethodSessionPrompt,
		sdk.PromptRequest{SessionId: sdk.SessionId(sessionID), Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}}, &answer)
	return answer.StopReason, err
}

// cancelWhen calls a prompt off. An agent that does not end it then is ended.
func (a *agent) cancelWhen(ctx context.Context, end context.CancelCauseFunc, sessionID string, interrupt,
	over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-interrupt:
	}
	_ = a.conn.SendNotification(ctx, sdk.AgentMethodSessionCancel,
		map[string]any{"sessionId": sessionID}) // its process may have ended
	limit := min(cancelTimeout, a.timeout)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
		end(fmt.Errorf("did not end the prompt within %v of %s", limit, sdk.AgentMethodSessionCancel))
	}
}

// isAlive reports whether the agent can still be asked.
func (a *agent) isAlive() bool {
	select {
	case <-a.conn.Done():
		return false
	default:
		return a.result == nil && !a.input.failed.Load()
	}
}

// endProcess ends the process: first its input, then all of it.
func (a *agent) endProcess() isolate.Result {
	if a.result != nil {
		return *a.result
	}
	_ = a.stdin.Close() // it may have ended
	timer := time.AfterFunc(endTimeout, a.process.Stop)
	close(a.client.messages.closed)
	result, _ := a.process.Wait() // the caller's context says why it was ended
	a.stopped = !timer.Stop()
	<-a.conn.Done()
	a.result = &result
	return result
}

// failure is why an agent cannot be asked any more.
type failure struct {
	why    string
	result isolate.Result
}

// Error says why.
func (f *failure) Error() string { return f.why }

// endBecause ends the process because of err and says what happened.
func (a *agent) endBecause(err error) *failure {
	lost := (*refusal)(nil)
	died := errors.As(err, &lost) && !a.isAlive()
	if !died { // one that does die is left to say with which exit code
		a.process.Stop()
	}
	result := a.endProcess()
	why := err.Error()
	switch broken := a.client.messages.brokenReason(); {
	case broken != "":
		why = broken
	case died && a.stopped:
		why = fmt.Sprintf("closed its standard input before it answered %s", lost.method)
	case died && result.Signal != "":
		why = "was ended by " + result.Signal
	case died:
		why = fmt.Sprintf("ended with exit code %d before it answered %s", result.ExitCode, lost.method)
	}
	return &failure{why: why + a.client.messages.Noise(), result: result}
}

// Permissions says how the agent's questions for permission are answered.
type Permissions string

// The policies.
const (
	Allow  Permissions = "allow"  // once
	Reject Permissions = "reject" // once
)

// ParsePermissions reads a policy. "" is [Allow].
func ParsePermissions(text string) (Permissions, error) {
	switch p := Permissions(text); p {
	case "", Allow:
		return Allow, nil
	case Reject:
		return p, nil
	}
	return "", fmt.Errorf("permissions %q: unknown; use allow or reject%s", text,
		spelling.Hint(text, []string{"allow", "reject"}))
}

// permissionOption is one answer that the agent offers.
type permissionOption struct {
	OptionID string `json:"optionId"`
	Kind     string `json:"kind"`
}

// choosePermission returns the answer that the policy prefers; false when the agent
// offers none of that kind.
func (p Permissions) choosePermission(offered []permissionOption) (string, bool) {
	kinds := []string{"allow_once", "allow_always"}
	if p == Reject {
		kinds = []string{"reject_once", "reject_always"}
	}
	for _, kind := range kinds {
		if i := slices.IndexFunc(offered, func(o permissionOption) bool { return o.Kind == kind }); i >= 0 {
			return offered[i].OptionID, true
		}
	}
	return "", false
}

// providerOf guesses who serves a model, "" when the name does not show it. A name like
// "openrouter/anthropic/claude" belongs to the first name.
func providerOf(model string) string {
	model = strings.ToLower(model)
	first, rest, prefixed := strings.Cut(model, "/")
	if !prefixed {
		rest = first
	}
	for _, w := range wires.All() {
		words := w.Models.Words
		if prefixed && len(words) > 0 && first == words[0] {
			return w.Name
		}
		if !prefixed && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(rest, word) }) {
			return w.Name
		}
	}
	return ""
}

// providersOf lists the providers whose models are offered, nil when that shows
// nothing.
func providersOf(models []string) (found []string) {
	for _, name := range wires.Names() {
		if slices.ContainsFunc(models, func(m string) bool { return providerOf(m) == name }) {
			found = append(found, name)
		}
	}
	return found
}

// chooseModel picks the name by which the agent offers a model of a provider: its
// name, alone or behind the provider's. Without it, an agent whose current model is of
// another provider gets the first one of the right provider. "" leaves the model alone.
func chooseModel(offered []string, current, provider, model string) string {
	isModel := func(name string) bool {
		return name == model || strings.HasSuffix(name, "/"+model) && providerOf(name) == provider
	}
	if i := slices.IndexFunc(offered, isModel); i >= 0 && model != "" {
		return offered[i]
	}
	ofProvider := func(name string) bool { return providerOf(name) == provider }
	if ofProvider(current) || !strings.Contains(current, "/") {
		return ""
	}
	if i := slices.IndexFunc(offered, ofProvider); i >= 0 {
		return offered[i]
	}
	return ""
}

// chooseMode picks the mode in which the agent asks before it acts. "" leaves the mode
// alone. A mode that lets a model decide about permissions would ask the provider more
// than the script knows of.
func chooseMode(o *opened) string {
	const asks = "default"
	for _, m := range o.Modes.AvailableModes {
		if m.ID == asks && o.Modes.CurrentModeID != asks {
			return asks
		}
	}
	return ""
}
