package acp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/isolate"
)

// Exit codes of steps that do not end well. An agent that dies has its own.
const (
	exitFailed    = 1
	exitCancelled = 130 // as of a program that Ctrl-C ended
)

// session is the agent in one case.
type session struct {
	room  harness.Room
	files *workFolder
	args  []string
	start func(context.Context) (*agent, error)
	agent *agent // nil while no process runs
	id    string // of the agent's session, "" before there is one
}

// RunStep implements harness.Session.
func (s *session) RunStep(ctx context.Context, step harness.Step) (evidence.Process, error) {
	p := evidence.Process{Args: s.args}
	reason, err := s.runPrompt(ctx, step)
	if s.agent != nil {
		p.Stdout = []byte(s.agent.client.saidText())
	}
	ended := (*failure)(nil)
	switch {
	case errors.As(err, &ended):
		s.agent = nil
		p.ExitCode, p.Stderr = cmp.Or(ended.result.ExitCode, exitFailed), ended.result.Stderr
	case err != nil && s.agent == nil:
		return p, err // it could not be started
	case err != nil:
		p.ExitCode = exitFailed
	case reason != "":
		p.ExitCode, err = stopCode(reason)
	}
	if err != nil {
		p.Stderr = append(p.Stderr, []byte("\nconform: the agent "+err.Error()+"\n")...)
	}
	return p, nil
}

// stopCode is the exit code of a step by why the agent stopped, and why that is not a
// success.
func stopCode(reason string) (int, error) {
	switch reason {
	case string(sdk.StopReasonEndTurn):
		return 0, nil
	case string(sdk.StopReasonCancelled):
		return exitCancelled, errors.New("stopped because it was told to")
	}
	return exitFailed, fmt.Errorf("stopped with %s", isolate.QuoteBeginning(reason))
}

// runPrompt brings the agent to where the step begins and asks it.
func (s *session) runPrompt(ctx context.Context, step harness.Step) (reason string, err error) {
	if err := s.reachSession(ctx, step); err != nil {
		return "", err
	}
	s.agent.client.startAnswer(s.id)
	if step.Prompt == "" {
		return string(sdk.StopReasonEndTurn), nil
	}
	reason, err = s.agent.promptSession(ctx, s.id, step.Prompt, step.Interrupt)
	if err != nil && (!s.agent.isAlive() || ctx.Err() != nil) {
		return "", s.agent.endBecause(err)
	}
	if err == nil && reason == "" {
		err = errors.New("answered session/prompt without stopReason")
	}
	return reason, err
}

// reachSession starts the process that the step needs and opens its session there.
func (s *session) reachSession(ctx context.Context, step harness.Step) error {
	if step.Turn {
		if s.agent == nil || !s.agent.isAlive() {
			return &failure{why: "has ended, and the step goes on in its process"}
		}
		return nil
	}
	if s.agent != nil {
		s.agent.endProcess()
		s.agent = nil
	}
	started, err := s.start(ctx)
	if err != nil {
		return err
	}
	s.agent = started
	if err := s.openSession(ctx, step.Resume); err != nil {
		return s.agent.endBecause(err)
	}
	return nil
}

// openSession opens the session of the case, or loads it in a new process.
func (s *session) openSession(ctx context.Context, again bool) error {
	servers := mcpServers(s.room.Tools, s.agent.hello.AgentCapabilities.McpCapabilities.HTTP)
	method, params := sdk.AgentMethodSessionNew, map[string]any{"cwd": s.room.Work, "mcpServers": servers}
	if again {
		if s.id == "" {
			return errors.New("has no session to go on with")
		}
		params["sessionId"] = s.id
		if method = sdk.AgentMethodSessionLoad; s.agent.hello.hasResume() {
			method = sdk.AgentMethodSessionResume
		}
	}
	session, err := s.agent.openSession(ctx, method, params)
	if err != nil {
		return err
	}
	if !again {
		if s.id = session.SessionID; s.id == "" {
			return errors.New("answered session/new without sessionId")
		}
	}
	return s.agent.applySettings(ctx, settingsFor(&session, s.id, s.room))
}

// Close implements harness.Session.
func (s *session) Close() error {
	if s.agent != nil {
		s.agent.endProcess()
	}
	_ = s.files.root.Close()
	return nil
}

// mcpServers hands our tools over: by stdin and stdout, which every agent supports, or
// over HTTP where there is no command.
func mcpServers(tools harness.ToolServer, overHTTP bool) []sdk.McpServer {
	const name = "conform"
	switch {
	case len(tools.Command) > 0:
		env := []sdk.EnvVariable{}
		for _, entry := range tools.Env {
			key, value, _ := strings.Cut(entry, "=")
			env = append(env, sdk.EnvVariable{Name: key, Value: value})
		}
		args := append([]string{}, tools.Command[1:]...)
		return []sdk.McpServer{{Stdio: &sdk.McpServerStdio{Name: name, Command: tools.Command[0], Args: args,
			Env: env}}}
	case tools.URL != "" && overHTTP:
		return []sdk.McpServer{{Http: &sdk.McpServerHttpInline{Type: "http", Name: name, Url: tools.URL,
			Headers: []sdk.HttpHeader{}}}}
	}
	return []sdk.McpServer{}
}

// settingsFor are the settings that the case asks for and the agent offers.
func settingsFor(o *opened, id string, room harness.Room) (settings []setting) {
	set := func(method, member string, value any) {
		settings = append(settings, setting{method: method, params: map[string]any{"sessionId": id, member: value}})
	}
	setOption := func(option configOption, value string) {
		settings = append(settings, setting{method: sdk.AgentMethodSessionSetConfigOption,
			params: map[string]any{"sessionId": id, "configId": option.ID, "value": value}})
	}
	if mode := chooseMode(o); mode != "" {
		set(sdk.AgentMethodSessionSetMode, "modeId", mode)
	}
	option, hasOption := o.optionOf("model")
	current := o.Models.CurrentModelID
	if current == "" {
		current, _ = option.CurrentValue.(string)
	}
	switch model := chooseModel(o.modelIDs(), current, room.Case.Target.Provider, room.Model); {
	case model == "":
	case len(o.Models.AvailableModels) > 0:
		set(sdk.AgentMethodSessionSetModel, "modelId", model)
	case hasOption:
		setOption(option, model)
	}
	if effort, ok := o.optionOf("thought_level"); ok && effort.offersValue(room.Effort) {
		setOption(effort, room.Effort)
	}
	return settings
}

// The answers of agents, as far as they are used. The SDK's own types refuse answers
// with variants that are newer than the SDK, so they are not used for reading.

// hello is the answer to initialize.
type hello struct {
	ProtocolVersion   int `json:"protocolVersion"`
	AgentInfo         agentInfo
	AgentCapabilities struct {
		LoadSession         bool `json:"loadSession"`
		McpCapabilities     struct{ HTTP bool }
		SessionCapabilities struct{ Resume json.RawMessage }
	}
	AuthMethods []authMethod
}

type agentInfo struct{ Name, Title, Version string }

func (h *hello) hasResume() bool {
	return isGiven(h.AgentCapabilities.SessionCapabilities.Resume)
}

// isGiven reports whether a capability that is an object is there.
func isGiven(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "false"
}

// authMethod is one way to authenticate.
type authMethod struct {
	ID, Name, Type string
	Meta           map[string]json.RawMessage `json:"_meta"`
}

var apiKeyWords = regexp.MustCompile(`(?i)\bapi[-_ ]?key\b`)

// keyMethod picks the way to authenticate with an API key from the environment: no
// other works without a person.
func keyMethod(methods []authMethod) (authMethod, bool) {
	takesKey := func(m authMethod) bool {
		_, marked := m.Meta["api-key"]
		return m.Type != "terminal" && (marked || m.Type == "env_var" || apiKeyWords.MatchString(m.ID+" "+m.Name))
	}
	i := slices.IndexFunc(methods, takesKey)
	if i < 0 {
		return authMethod{}, false
	}
	return methods[i], true
}

// methodNames lists the ways to authenticate for a message.
func methodNames(methods []authMethod) string {
	var names []string
	for _, m := range methods {
		names = append(names, fmt.Sprintf("%q", m.ID))
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// opened is the answer to session/new, session/load and session/resume.
type opened struct {
	SessionID string `json:"sessionId"`
	Modes     struct {
		CurrentModeID  string `json:"currentModeId"`
		AvailableModes []struct{ ID, Name string }
	}
	Models struct {
		CurrentModelID  string `json:"currentModelId"`
		AvailableModels []struct {
			ModelID string `json:"modelId"`
			Name    string
		}
	}
	ConfigOptions []configOption
}

// configOption is a setting of a session. Options are values, or groups of them.
type configOption struct {
	ID, Category, Type string
	CurrentValue       any
	Options            []configValue
}

type configValue struct {
	Value, Name string
	Options     []configValue
}

// allValues are the values of an option, out of their groups.
func (o configOption) allValues() (all []string) {
	for _, v := range o.Options {
		if v.Value != "" {
			all = append(all, v.Value)
		}
		for _, inner := range v.Options {
			all = append(all, inner.Value)
		}
	}
	return all
}

// offersValue reports whether a value can be chosen.
func (o configOption) offersValue(value string) bool {
	return value != "" && slices.Contains(o.allValues(), value)
}

// optionOf is the setting of a category.
func (o *opened) optionOf(category string) (configOption, bool) {
	i := slices.IndexFunc(o.ConfigOptions,
		func(c configOption) bool { return c.Category == category || c.Category == "" && c.ID == category })
	if i < 0 {
		return configOption{}, false
	}
	return o.ConfigOptions[i], true
}

// modelIDs are the models that the agent offers, by the names to choose them by.
func (o *opened) modelIDs() (all []string) {
	for _, m := range o.Models.AvailableModels {
		all = append(all, m.ModelID)
	}
	if len(all) > 0 {
		return all
	}
	if option, ok := o.optionOf("model"); ok {
		return option.allValues()
	}
	return nil
}

// decodeLenient reads what it can of an answer: a member of an unexpected type is left
// out, as newer protocol versions may bring. It fails for what is not an object.
func decodeLenient(raw json.RawMessage, into any) error {
	err := json.Unmarshal(raw, into)
	if otherType := (*json.UnmarshalTypeError)(nil); errors.As(err, &otherType) &&
		bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil
	}
	return err
}
