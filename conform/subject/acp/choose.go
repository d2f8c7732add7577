package acp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/wires"
)

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
	return "", fmt.Errorf("permissions %q: unknown; use allow or reject%s", text, spelling.Hint(text, []string{"allow", "reject"}))
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
