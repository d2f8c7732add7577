package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/meerkat-go/conformance/meerkat/server"
	"github.com/meerkat-go/conformance/meerkat/session"
)

// eventsPerPage is how many events are read from the log at once.
const eventsPerPage = 256

type eventsInput struct {
	SessionPath
	LastEventID string `header:"Last-Event-ID" maxLength:"100" doc:"The id of the last event that the client has; the stream goes on after it."`
	After       string `query:"after" maxLength:"100" doc:"The same, for clients that cannot set headers."`
}

func (s *Server) addEventOperation() {
	o := newOperation(
		"followEvents", http.MethodGet, "/sessions/{id}/events", "runs", "Follow a session as server-sent events", 404,
		409, 429,
	)
	o.Middlewares = nil // it has as long as the client stays
	o.Description = "Sends the events that are kept of the session, and then those that happen, until the client leaves. " +
		"The type of an event is that of its data, as in the JSON Schema of rkat events schema. An event named gap says that events are missing; the history has what they led to. Comments keep the connection alive."
	o.Responses = map[string]*huma.Response{"200": {
		Description: "The events.",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	huma.Register(s.api, o, s.followEvents)
}

func (s *Server) followEvents(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	last := in.LastEventID
	if last == "" {
		last = in.After
	}
	after, err := server.ParsePosition(last)
	if err != nil {
		return nil, newProblem(http.StatusBadRequest, "header Last-Event-ID: "+err.Error())
	}
	found, _, err := s.loadSession(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	if s.streams.Add(1) > int64(s.options.Streams) {
		s.streams.Add(-1)
		return nil, huma.ErrorWithHeaders(
			newProblem(
				http.StatusTooManyRequests,
				fmt.Sprintf("server: %d event streams are open and no more are allowed; close one", s.options.Streams),
			),
			http.Header{"Retry-After": {retrySeconds}},
		)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer s.streams.Add(-1)
		_, w := humago.Unwrap(hc)
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		s.streamEvents(hc.Context(), w, found.ID, after)
	}}, nil
}

// streamEvents sends the events of a session until the client leaves or the server stops.
func (s *Server) streamEvents(ctx context.Context, w http.ResponseWriter, id session.ID, after server.Position) {
	control := http.NewResponseController(w)
	for ctx.Err() == nil {
		page, last, err := s.nextEvents(ctx, id, after)
		if err != nil {
			_, _ = fmt.Fprintf(w, "event: error\ndata: %s\n\n", asLine(newProblem(statusOf(err), err.Error())))
			return
		}
		if writeEvents(w, &page) != nil || control.Flush() != nil || last {
			return
		}
		after = page.Next
	}
}

// nextEvents returns the next events, or an empty page when it is time for a sign of
// life. last says that no more will come.
func (s *Server) nextEvents(ctx context.Context, id session.ID, after server.Position) (page server.EventPage,
	last bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Heartbeat)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	closed := s.closing.Err() != nil // all that will come is in the log
	page, err = s.backend.Events(ctx, id, after, eventsPerPage)
	return page, closed && len(page.Events) == 0, err
}

// gapNotice is the data of the event gap.
type gapNotice struct {
	Message string `json:"message"`
}

// writeEvents writes a page as server-sent events; an empty one as a comment. The page is
// not assembled in memory: a reader that stops holds no copy of it.
func writeEvents(w io.Writer, p *server.EventPage) (err error) {
	switch {
	case p.Gap && len(p.Events) == 0:
		_, err = fmt.Fprintf(w, "id: %s\nevent: gap\ndata: %s\n\n", p.Next, asLine(missedEvents()))
	case p.Gap:
		_, err = fmt.Fprintf(w, "event: gap\ndata: %s\n\n", asLine(missedEvents()))
	case len(p.Events) == 0:
		_, err = io.WriteString(w, ": still here\n\n")
	}
	for _, e := range p.Events {
		if err == nil {
			_, err = fmt.Fprintf(w, "id: %s\nevent: %s\ndata: %s\n\n", e.Position, e.Kind, oneLine(e.Data))
		}
	}
	return err
}

func missedEvents() gapNotice {
	return gapNotice{"events are missing here; read the history of the session for what they led to"}
}

// oneLine returns JSON without line breaks. Most has none, and is not copied.
func oneLine(data json.RawMessage) []byte {
	if bytes.ContainsAny(data, "\r\n") {
		return asLine(data)
	}
	return data
}

// asLine returns a value as JSON without line breaks.
func asLine(v any) []byte {
	text, err := json.Marshal(v) // compacts raw JSON
	if err != nil {
		return []byte("null")
	}
	return text
}
