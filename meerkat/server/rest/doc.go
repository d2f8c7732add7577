// Package rest offers an agent over HTTP: sessions, their runs, their events and their
// history as JSON.
//
//	backend := server.NewLocal(host.Execute, server.LocalOptions{})
//	s := rest.New(host, backend, rest.Options{Token: token})
//	err := server.HTTP(ctx, listener, s.Handler())
//
// [Server.Document] is the OpenAPI 3.1 document of the API, made from the types of this
// package; it is served at /openapi.json. Runs go on when the client that asked for them
// has left. GET /sessions/{id}/events follows a session as server-sent events, and
// Last-Event-ID continues after a break.
//
// The package promises: every error is application/problem+json, names the object and says
// what to do; a request with the same Idempotency-Key is one run; nothing but /healthz
// answers without the token; a server that stops loses no session.
package rest
