package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

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

// canResume reports whether another process can go on with a session, and loadsHistory
// whether it does so by session/load, which sends the whole conversation again.
func (h *hello) canResume() bool { return h.AgentCapabilities.LoadSession || h.hasResume() }

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
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
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
	i := slices.IndexFunc(o.ConfigOptions, func(c configOption) bool { return c.Category == category || c.Category == "" && c.ID == category })
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
	if otherType := (*json.UnmarshalTypeError)(nil); errors.As(err, &otherType) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil
	}
	return err
}
