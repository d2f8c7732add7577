// Package gateway judges a gateway from both sides: a driver asks it, and the strict simulator
// answers behind it. What the client sent is compared with what arrived at the simulator, and what
// the simulator answered with what the client got:
//
//	process, err := gateway.Start(ctx, gateway.Command{Args: argv, Upstream: up.URL})
//	run, err := gateway.Judge(ctx, gateway.Config{Wire: wire, Upstream: up, Base: process.URL})
//
// No key, no model and no network are needed. The duties of gateways stand in specs/duties; every
// finding has the id of one, and shows both sides where they differ first.
package gateway
