// Package archtest holds the walls between the parts of the project: which
// package may import which, which library may be used where, and what is linked
// into the programs. A referee that shared code with the agent, or a proxy that
// understood messages, would miss the very bugs that it is there to find.
package archtest
