package rest

import (
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/meerkat-go/conformance/meerkat/server"
)

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
