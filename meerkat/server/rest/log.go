package rest

import (
	"log/slog"
	"net/http"
	"time"
)

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets an http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// logRequest writes a line about a request: which operation it was and what came of it.
// Nothing that a client wrote is in it.
func (s *Server) logRequest(r *http.Request, w *statusWriter, began time.Time) {
	_, pattern := s.mux.Handler(r)
	s.options.Log.LogAttrs(r.Context(), slog.LevelInfo, "request", slog.String("operation", pattern),
		slog.Int("status", max(w.status, http.StatusOK)),
		slog.Int64("duration_ms", s.host.Now().Sub(began).Milliseconds()))
}
