// Package ops runs operations: work that goes on while its agent does something else,
// such as sub-agents.
//
// A [Manager] runs the operations of any number of agents. The operations of an agent,
// and those that they start in turn, are a tree with common [ConcurrencyLimits]. Agents
// of package agent take part in it when their Config names a Manager:
//
//	manager := ops.NewManager(ops.Config{Run: agent.RunOperation, Now: time.Now, NewID: session.NewID})
//
// [Tools] are what a model starts and controls operations with. A program does so from
// outside with [Manager.Steer], [Manager.Cancel] and [Manager.Operations].
//
// Inside, the tree is a pure function, step, from a state and an input to the next state
// and a list of effects; the files in testdata/steps show it, topic by topic.
//
// The package promises: what was accepted can always run, because the limits are checked
// when an operation is submitted; an operation starts after its submission is recorded
// and after all that it depends on has completed; each operation ends exactly once; and
// no operation outlives the run of the agent that started it.
package ops
