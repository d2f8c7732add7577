// Package e2e holds the tests over several parts: the agent with the recorder, the
// simulator and the referee.
package e2e
