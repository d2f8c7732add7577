package specs

// Ability is something that the harness can do with an agent beyond giving it one
// prompt and waiting for its end.
type Ability string

// The abilities, in the order of the control levels L1 to L4. An agent that has none
// of these four is at L0.
const (
	// AbilityTools: the agent can be given our tools.
	AbilityTools Ability = "tools"
	// AbilityResume: another process can continue a session.
	AbilityResume Ability = "resume"
	// AbilityTurns: one process takes several prompts, one after the other.
	AbilityTurns Ability = "turns"
	// AbilityInterrupt: a prompt can be called off while it runs.
	AbilityInterrupt Ability = "interrupt"
	// AbilityModel: the model can be chosen. It belongs to no level.
	AbilityModel Ability = "model"
	// AbilitySystem: the system prompt can be chosen. It belongs to no level.
	AbilitySystem Ability = "system"
)

// Needs returns what an agent must be able to do to play the scenario, beyond
// answering one prompt. The slice is the caller's.
func (s *Scenario) Needs() []Ability {
	for _, step := range s.Steps {
		if step.Resume {
			return []Ability{AbilityResume}
		}
	}
	return nil
}
