package rest

import (
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/meerkat-go/conformance/meerkat/server"
)

// newConfig returns the configuration of the API: no pages, no links to schemas, and
// errors whose detail names the object.
func newConfig(version string) huma.Config {
	c := huma.DefaultConfig("Meerkat", version)
	c.OpenAPIPath, c.DocsPath, c.SchemasPath, c.CreateHooks = "", "", "", nil
	c.Formats = newFormats()
	c.Transformers = []huma.Transformer{nameInvalid}
	c.RejectUnknownQueryParameters = true
	c.Info.Description = "Runs an agent: sessions, their runs, their events and their history. Runs go on when the client has left."
	c.Info.License = &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"}
	c.Servers = []*huma.Server{{URL: "/", Description: "This server"}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "The token that the server was started with."},
	}
	c.Security = []map[string][]string{{"token": {}}}
	c.Tags = []*huma.Tag{
		{Name: "sessions", Description: "Conversations that are kept."},
		{Name: "runs", Description: "What an agent does in a session."},
		{Name: "operations", Description: "What an agent has started beside its own work, such as sub-agents."},
		{Name: "server", Description: "The server itself."},
	}
	return c
}

// Document returns the OpenAPI 3.1 document of the API as indented JSON.
func (s *Server) Document() []byte {
	text, err := json.MarshalIndent(s.api.OpenAPI(), "", "  ")
	if err != nil {
		panic("rest: the document of the API cannot be written: " + err.Error()) // a mistake in this package
	}
	return append(text, '\n')
}

// newOperation returns an operation with what all have in common. errors are its own,
// besides those that any request may get. One that only reads has its time; see boundAnswer.
func newOperation(id, method, path, tag, summary string, errors ...int) huma.Operation {
	var bounds huma.Middlewares
	if method == http.MethodGet {
		bounds = huma.Middlewares{boundAnswer}
	}
	return huma.Operation{
		Middlewares: bounds,
		OperationID: id, Method: method, Path: path, Tags: []string{tag}, Summary: summary,
		MaxBodyBytes:    server.MaxMessage,
		BodyReadTimeout: -1, // server.Guard has read the body; a deadline would end what waits for a run
		Errors: append(
			errors, http.StatusServiceUnavailable, http.StatusBadRequest, http.StatusUnauthorized,
			http.StatusForbidden, http.StatusNotAcceptable, http.StatusUnsupportedMediaType,
			http.StatusUnprocessableEntity,
		),
	}
}
