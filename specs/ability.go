package specs

import (
	_ "embed" // for capabilities.yaml
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/meerkat-go/conformance/internal/datafile"
)

// Ability is something that the harness can do with an agent beyond giving it one
// prompt and waiting for its end.
type Ability string

// The abilities. The first four are the control levels L1 to L4; an agent that has
// none of them is at L0.
const (
	// AbilityTools: the agent can be given our tools. Without it the script calls
	// the agent's own.
	AbilityTools Ability = "tools"
	// AbilityResume: another process can continue a session.
	AbilityResume Ability = "resume"
	// AbilityTurns: one process takes several prompts, one after the other.
	AbilityTurns Ability = "turns"
	// AbilityInterrupt: a prompt can be called off while it runs.
	AbilityInterrupt Ability = "interrupt"
	// AbilityModel: the model can be chosen.
	AbilityModel Ability = "model"
	// AbilitySystem: the system prompt can be chosen.
	AbilitySystem Ability = "system"
	// AbilityHosted: the agent offers the tools that the provider runs itself, its
	// search of the web and its code.
	AbilityHosted Ability = "hosted"
	// AbilityKill: the process that runs a prompt can be killed.
	AbilityKill Ability = "kill"
	// AbilitySwitch: another process can continue a session with another model, also one
	// of another provider.
	AbilitySwitch Ability = "switch"
	// AbilityFork: a copy of a session can be continued.
	AbilityFork Ability = "fork"
	// AbilityCompact: a session can be summarised when that is wanted.
	AbilityCompact Ability = "compact"
	// AbilityImages: an image can go with a prompt.
	AbilityImages Ability = "images"
	// AbilityAttach: a document, or the address of an image, can go with a prompt.
	AbilityAttach Ability = "attach"
	// AbilityAllowlist: the agent refuses a model that is not on the allowlist before
	// it sends anything.
	AbilityAllowlist Ability = "allowlist"
	// AbilityMaxTurns: the number of replies that a process asks for can be limited.
	AbilityMaxTurns Ability = "max_turns"
	// AbilityCache: the agent marks its prompt for the provider's cache, where the provider
	// wants marks.
	AbilityCache Ability = "cache"
	// AbilityOutputSchema: the form of the answer can be given as a JSON Schema.
	AbilityOutputSchema Ability = "output_schema"
	// AbilityProviderCompaction: the agent lets the provider compact a long conversation.
	AbilityProviderCompaction Ability = "provider_compaction"
	// AbilitySubAgents: the model can start other agents, which work at the same time, and
	// wait for them.
	AbilitySubAgents Ability = "sub_agents"
	// AbilityMCP: the agent gets our tools from an MCP server.
	AbilityMCP Ability = "mcp"
	// AbilityDeferredTools: the agent defers the tools of an MCP server, and the model
	// searches for them.
	AbilityDeferredTools Ability = "deferred_tools"
	// AbilityWebSocket: the agent can be told to speak over WebSockets, where the provider has
	// them.
	AbilityWebSocket Ability = "websocket"
	// AbilityToolChoice: the agent can be told that the model must call the echo tool first.
	AbilityToolChoice Ability = "tool_choice"
)

// Abilities are all abilities, those that make a control level first. The slice is the
// caller's.
func Abilities() []Ability {
	return []Ability{AbilityTools, AbilityResume, AbilityTurns, AbilityInterrupt,
		AbilityModel, AbilitySystem, AbilityHosted, AbilityKill, AbilitySwitch, AbilityFork, AbilityCompact,
		AbilityImages, AbilityAllowlist, AbilityMaxTurns,
		AbilityCache, AbilityOutputSchema, AbilityProviderCompaction, AbilitySubAgents, AbilityToolChoice, AbilityMCP,
		AbilityAttach, AbilityDeferredTools, AbilityWebSocket}
}

// Needs returns what an agent must be able to do to run the scenario, beyond
// answering one prompt, in the order of [Abilities]. It follows from the steps and the
// calls; the scenario adds what they do not show. The slice is the caller's.
func (s *Scenario) Needs() []Ability {
	needed := slices.Clone(s.ExtraNeeds)
	for _, step := range s.Steps {
		needed = append(needed, step.neededAbilities()...)
	}
	if s.Limits.Turns > 0 {
		needed = append(needed, AbilityMaxTurns)
	}
	for _, turn := range s.Turns {
		for _, block := range turn.Emit {
			needed = append(needed, block.neededAbilities()...)
		}
	}
	return slices.DeleteFunc(Abilities(), func(a Ability) bool { return !slices.Contains(needed, a) })
}

func (s Step) neededAbilities() (needed []Ability) {
	for _, a := range []struct {
		ability Ability
		isUsed  bool
	}{
		{AbilityResume, s.Resume}, {AbilityTurns, s.Turn}, {AbilityTools, len(s.Calls) > 0},
		{AbilityInterrupt, s.Interrupt},
		{AbilityKill, s.Kill}, {AbilitySwitch, s.Switch != nil}, {AbilityFork, s.Fork}, {AbilityCompact, s.Compact},
		{AbilityImages, s.Image}, {AbilityAttach, s.Attach != ""},
		{AbilityModel, s.Exit == ExitUnsupported}, {AbilityAllowlist, s.Exit == ExitUnsupported},
	} {
		if a.isUsed {
			needed = append(needed, a.ability)
		}
	}
	return needed
}

// CallsRole reports whether the script calls the tool of a role.
func (s *Scenario) CallsRole(role string) bool {
	return slices.ContainsFunc(s.Turns, func(t Turn) bool {
		return slices.ContainsFunc(t.Emit, func(b Block) bool { return b.Role == role })
	})
}

func (b Block) neededAbilities() []Ability {
	switch {
	case b.Kind == KindSearch || b.Kind == KindCode:
		return []Ability{AbilityHosted}
	case slices.Contains(agentRoles, b.Role):
		return []Ability{AbilitySubAgents}
	case b.Kind == KindCall && !b.isPortable():
		return []Ability{AbilityTools}
	}
	return nil
}

// isPortable reports whether a tool of the agent's own can stand in for the one that
// the block calls: the call has at most one text as its argument, and the result shows
// nothing that only our tool returns.
func (b Block) isPortable() bool {
	if b.Role == "image" || b.Role == "awkward" {
		return false
	}
	if len(b.Args) == 0 || b.Partial {
		return true
	}
	_, ok := b.Word()
	return ok
}

// Word is the one text that a call has as its argument, "" for a call without
// arguments; false when there is more in them.
func (b Block) Word() (string, bool) {
	if b.Fill != "" {
		return b.Fill, true
	}
	if len(b.Args) == 0 || b.Partial {
		return "", true
	}
	var members map[string]any
	if json.Unmarshal(b.Args, &members) != nil || len(members) > 1 {
		return "", false
	}
	if len(members) == 0 {
		return "", true
	}
	text, ok := members["text"].(string)
	return text, ok
}

//go:embed capabilities.yaml
var capabilityFile []byte

// Capability says what the models that a predicate selects take, as far as it is
// known; see the head of capabilities.yaml. A nil list is unknown, an empty one says
// that the parameter is refused.
type Capability struct {
	Models   ModelPredicate `yaml:"models" data:"required"`
	Thinking []string       `yaml:"thinking" data:"empty"`
	Efforts  []string       `yaml:"efforts" data:"empty"`
	Levels   []string       `yaml:"levels" data:"empty"`
	// Budget is the least and the greatest thinking budget above 0.
	Budget []int `yaml:"budget"`
	// Reasoning is always, on, off, never, or "" when unknown.
	Reasoning string `yaml:"reasoning" data:"one=always on off never"`
	// MaxOutput is the greatest number of output tokens, 0 when unknown.
	MaxOutput int      `yaml:"max_output"`
	Refuses   []string `yaml:"refuses" data:"is=refusable"`
}

// DoesRefuse reports whether the models are known to refuse what, e.g. "sampling".
func (c Capability) DoesRefuse(what string) bool { return slices.Contains(c.Refuses, what) }

// TellsThinking reports whether it is known how the models are asked to think, or that they do not.
func (c Capability) TellsThinking() bool {
	return c.Thinking != nil || c.Levels != nil || c.Budget != nil || c.Reasoning != ""
}

// FindCapability returns what a model of provider takes. For a model without a
// description it is the zero value, in which everything is unknown.
func FindCapability(provider, model string) Capability {
	name := ParseModel(model)
	for _, c := range capabilities()[provider] {
		if c.Models.Matches(name) {
			return c
		}
	}
	return Capability{}
}

// capabilities panics when the file is wrong: without the file every test of a parameter would fail, and none say why.
var capabilities = sync.OnceValue(func() map[string][]Capability {
	all, err := parseCapabilities("specs/capabilities.yaml", capabilityFile)
	if err != nil {
		panic(err)
	}
	return all
})

// refusable are the words of refuses. A new word needs a rule that asks for it by [Capability.DoesRefuse].
var refusable = datafile.OneOf("sampling", "temperature beside top_p", "forced tools", "disabled at xhigh", "prefill",
	"zero budget")

func parseCapabilities(file string, data []byte) (all map[string][]Capability, err error) {
	f := datafile.Read(file, data, &all, datafile.Options{Rules: map[string]datafile.Rule{"refusable": refusable}})
	for provider, rows := range all {
		for i, row := range rows {
			f.AddUnless(row.Budget == nil || len(row.Budget) == 2, fmt.Sprintf("%s[%d].budget", provider, i),
				"is not two numbers")
		}
	}
	return all, f.Err()
}
