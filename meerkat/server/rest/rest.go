package rest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/meerkat-go/conformance/meerkat/catalog"
	"github.com/meerkat-go/conformance/meerkat/server"
)

// Options are what a server needs beside host and backend.
type Options = server.APIOptions

// Server implements server.API.
type Server struct {
	host    server.Host
	backend server.Backend
	options Options
	mux     *http.ServeMux
	api     huma.API

	streams  atomic.Int64
	draining atomic.Bool
	closing  context.Context //nolint:containedctx // ends the event streams when the server stops
	closeAll context.CancelFunc
}

// New returns a server of the runs of a backend, whose sessions are those of host.
func New(host server.Host, backend server.Backend, o Options) *Server {
	o.Heartbeat = cmp.Or(o.Heartbeat, server.DefaultHeartbeat)
	o.Streams = cmp.Or(o.Streams, server.DefaultStreams)
	if o.CheckModel == nil {
		o.CheckModel = func(model string) error { _, err := catalog.Lookup(model); return err }
	}
	if host.Now == nil {
		host.Now = time.Now
	}
	s := &Server{host: host, backend: backend, options: o, mux: http.NewServeMux()}
	s.closing, s.closeAll = context.WithCancel(context.Background())
	s.api = humago.New(s.mux, newConfig(host.Version))
	s.addSessionOperations()
	s.addRunOperations()
	s.addSteerOperation()
	s.addEventOperation()
	s.addOperationOperations()
	s.addArtifactOperations()
	s.addHealthOperation()
	document := s.Document()
	s.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document)
	})
	if o.Metrics != nil {
		s.mux.Handle("GET /metrics", o.Metrics)
	}
	return s
}

// Streams implements server.API.
func (s *Server) Streams() int { return int(s.streams.Load()) }

// Drain implements server.API. From now on /healthz says so.
func (s *Server) Drain(ctx context.Context) error {
	s.draining.Store(true)
	defer s.closeAll()
	return s.backend.Drain(ctx)
}

// Handler implements server.API.
func (s *Server) Handler() http.Handler {
	inner := http.HandlerFunc(s.serveKnown)
	guarded := server.Guard(
		server.GuardOptions{Token: s.options.Token, Hosts: s.options.Hosts, Refuse: writeProblem}, inner,
	)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if s.options.Log != nil {
			logged := &statusWriter{ResponseWriter: w}
			defer s.logRequest(r, logged, s.host.Now())
			w = logged
		}
		if r.URL.Path == "/healthz" {
			inner.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// serveKnown answers paths and methods that exist, for clients that take the answer.
func (s *Server) serveKnown(w http.ResponseWriter, r *http.Request) {
	h, pattern := s.mux.Handler(r)
	switch {
	case pattern == "":
		// Answer a request whose path or method does not exist. h is what the
		// multiplexer would do.
		answer := headerWriter{}
		h.ServeHTTP(answer, r)
		path := fmt.Sprintf("%.200q", r.URL.Path)
		switch allow := http.Header(answer).Get("Allow"); {
		case allow != "":
			w.Header().Set("Allow", allow)
			writeProblem(w, "method: "+path+" takes "+allow+"; use one of them", http.StatusMethodNotAllowed)
		default:
			writeProblem(w, "path: "+path+" does not exist; see /openapi.json", http.StatusNotFound)
		}
	case !isAccepted(r):
		writeProblem(
			w, "accept: "+strings.Join(offeredTypes(r), " or ")+" is what this address returns; accept it",
			http.StatusNotAcceptable,
		)
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// addHealthOperation adds /healthz, which says nothing but that the server answers.
func (s *Server) addHealthOperation() {
	type healthOutput struct {
		Body struct {
			Status string `json:"status" enum:"ok"`
		}
	}
	huma.Register(s.api, huma.Operation{
		OperationID: "getHealth", Method: http.MethodGet, Path: "/healthz", Tags: []string{"server"},
		Security: []map[string][]string{},
		Summary:  "Say that the server answers", Description: "Needs no token and tells nothing else.",
		Errors: []int{http.StatusNotAcceptable, http.StatusServiceUnavailable},
	}, func(context.Context, *struct{}) (*healthOutput, error) {
		if s.draining.Load() {
			return nil, problemOf(server.ErrDraining)
		}
		out := &healthOutput{}
		out.Body.Status = "ok"
		return out, nil
	})
}
