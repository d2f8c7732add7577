package acp

import (
	"context"
	"slices"

	sdk "github.com/coder/acp-go-sdk"
)

// The options that a client can set beside the mode and the model.
const (
	optionModel = "model"
	optionMode  = "mode"
)

func (s *openSession) modeState() *sdk.SessionModeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := &sdk.SessionModeState{CurrentModeId: sdk.SessionModeId(s.mode)}
	for _, m := range Modes() {
		state.AvailableModes = append(state.AvailableModes, sdk.SessionMode{
			Id: sdk.SessionModeId(m), Name: string(m), Description: new(describeMode(m)),
		})
	}
	return state
}

// currentModel returns the model that answers the next prompt. The caller holds mu.
func (s *openSession) currentModel() string {
	if s.model == "" && s.agent != nil {
		return s.agent.Model()
	}
	return s.model
}

// models lists what can be chosen, and what answers now.
func (s *openSession) modelNames() []string {
	names := slices.Clone(s.conn.options.Models)
	if current := s.currentModel(); current != "" && !slices.Contains(names, current) {
		names = append([]string{current}, names...)
	}
	return names
}

func (s *openSession) modelState() *sdk.SessionModelState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := &sdk.SessionModelState{CurrentModelId: sdk.ModelId(s.currentModel())}
	for _, name := range s.modelNames() {
		state.AvailableModels = append(state.AvailableModels, sdk.ModelInfo{ModelId: sdk.ModelId(name), Name: name})
	}
	return state
}

func (s *openSession) configOptions() []sdk.SessionConfigOption {
	s.mu.Lock()
	defer s.mu.Unlock()
	var models, modes sdk.SessionConfigSelectOptionsUngrouped
	for _, name := range s.modelNames() {
		models = append(models, sdk.SessionConfigSelectOption{Name: name, Value: sdk.SessionConfigValueId(name)})
	}
	for _, m := range Modes() {
		modes = append(modes, sdk.SessionConfigSelectOption{
			Name: string(m), Value: sdk.SessionConfigValueId(m), Description: new(describeMode(m)),
		})
	}
	return []sdk.SessionConfigOption{
		selectOption(optionMode, "Mode", string(s.mode), modes),
		selectOption(optionModel, "Model", s.currentModel(), models),
	}
}

// selectOption returns an option whose category has the name of its id.
func selectOption(id, name, current string, values sdk.SessionConfigSelectOptionsUngrouped) sdk.SessionConfigOption {
	o := sdk.NewSessionConfigOptionSelect(
		sdk.SessionConfigValueId(current), sdk.SessionConfigSelectOptions{Ungrouped: &values},
	)
	o.Select.Id, o.Select.Name, o.Select.Category = sdk.SessionConfigId(id), name,
		new(sdk.SessionConfigOptionCategory(id))
	return o
}

// SetSessionMode implements sdk.Agent. It holds for calls from now on, also within the
// prompt that is being answered.
func (c *connection) SetSessionMode(_ context.Context,
	p sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	s, err := c.findSession(p.SessionId)
	if err == nil {
		err = s.setMode(Mode(p.ModeId))
	}
	return sdk.SetSessionModeResponse{}, err
}

func (s *openSession) setMode(m Mode) error {
	if !slices.Contains(Modes(), m) {
		return invalidParams("mode %.100q: it is none of %v", m, Modes())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = m
	return nil
}

// UnstableSetSessionModel changes the model from the next prompt on.
func (c *connection) UnstableSetSessionModel(ctx context.Context,
	p sdk.UnstableSetSessionModelRequest) (sdk.UnstableSetSessionModelResponse, error) {
	s, err := c.findSession(p.SessionId)
	if err == nil {
		err = s.setModel(ctx, string(p.ModelId))
	}
	return sdk.UnstableSetSessionModelResponse{}, err
}

// setModel builds the agent again with another model. If that fails, the session stays
// as it is.
func (s *openSession) setModel(ctx context.Context, model string) error {
	if model == "" {
		return invalidParams("model: it is empty; name one")
	}
	if !s.turn.TryLock() {
		return invalidParams("session %s: a prompt is being answered; change the model afterwards", s.id)
	}
	defer s.turn.Unlock()
	s.mu.Lock()
	before, agent, release := s.model, s.agent, s.release
	s.model, s.agent = model, nil
	s.mu.Unlock()
	_, err := s.openAgent(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.model, s.agent, s.release = before, agent, release
		return describeError(err)
	}
	if agent != nil {
		release()
	}
	return nil
}

// SetSessionConfigOption implements sdk.Agent.
func (c *connection) SetSessionConfigOption(ctx context.Context,
	p sdk.SetSessionConfigOptionRequest) (out sdk.SetSessionConfigOptionResponse, err error) {
	if p.ValueId == nil {
		return out, invalidParams("config option: there is none with a boolean value")
	}
	s, err := c.findSession(p.ValueId.SessionId)
	if err != nil {
		return out, err
	}
	switch id := string(p.ValueId.ConfigId); id {
	case optionMode:
		err = s.setMode(Mode(p.ValueId.Value))
	case optionModel:
		err = s.setModel(ctx, string(p.ValueId.Value))
	default:
		err = invalidParams("config option %.100q: it is none of %s, %s", id, optionMode, optionModel)
	}
	if err == nil {
		out.ConfigOptions = s.configOptions()
	}
	return out, err
}
