// Package standin is a server for tests that behaves as a provider on another machine
// would: with an authority of its own, words that differ each time, rate limits,
// overloads, odd chunks, and models that do not do what they are asked to do. It knows
// the live scenarios and no other prompts.
package standin

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/simulator"
)

// Manners say how a stand-in behaves. The zero value answers everything at once.
type Manners struct {
	// Limited and Overloaded are how many requests are turned down first, with 429 and
	// with an overload.
	Limited, Overloaded int
	// Idle is how many calls of a tool the model leaves out first.
	Idle int
	// EchoesKey makes replies hold the key of the request, in a header and in the body.
	EchoesKey bool
	// SplitsSignatures sends each of Anthropic's signatures in two events, as no release
	// before did, and each with a member that is new.
	SplitsSignatures bool
}

// Server is a running stand-in. Its methods are safe for concurrent use.
type Server struct {
	// URL is what answers in the place of every provider; CA is its authority, as PEM.
	URL string
	CA  []byte

	server *httptest.Server
	mu     sync.Mutex
	Manners
	keys  []string
	turns int
}

// Start starts a stand-in. Close it.
func Start(m Manners) *Server {
	s := &Server{Manners: m}
	s.server = httptest.NewUnstartedServer(s)
	s.server.EnableHTTP2 = true
	s.server.StartTLS()
	s.URL = s.server.URL
	s.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.server.Certificate().Raw})
	return s
}

// Close ends the server and its connections.
func (s *Server) Close() {
	s.server.CloseClientConnections()
	s.server.Close()
}

// Change makes the server behave otherwise from now on.
func (s *Server) Change(m Manners) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Manners = m
}

// Keys are the credentials of all requests so far, in order.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.keys...)
}

// reply is how one request is answered.
type reply struct {
	status int // 0: by a model
	turn   int // ordinal of all replies
	isIdle bool
	Manners
	key string
}

// decideReply counts a request and says how it is answered.
func (s *Server) decideReply(r *http.Request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := reply{key: r.Header.Get("X-Api-Key") + strings.TrimPrefix(r.Header.Get("Authorization"),
		"Bearer ") + r.Header.Get("X-Goog-Api-Key")}
	s.keys = append(s.keys, out.key)
	s.turns++
	out.turn = s.turns
	switch {
	case s.Limited > 0:
		s.Limited--
		out.status = http.StatusTooManyRequests
	case s.Overloaded > 0:
		s.Overloaded--
		out.status = http.StatusServiceUnavailable
	case s.Idle > 0:
		s.Idle--
		out.isIdle = true
	}
	out.Manners = s.Manners
	return out
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	answer := s.decideReply(r)
	if answer.status != 0 {
		contentType, text := llm.ErrorBody(llm.Provider(r.Host, r.URL.Path), answer.status, "come back later")
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(answer.status)
		_, _ = w.Write(text) //nolint:gosec // words of our own
		return
	}
	scenario, err := scenarioFor(body, answer.turn, answer.isIdle)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotImplemented)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	said := httptest.NewRecorder()
	simulator.New(simulator.Config{Scenario: scenario, Seed: "stand-in", Now: nil}).ServeHTTP(said, r)
	answer.sendReply(w, said)
}

// sendReply passes a reply on as a foreign host would, in pieces of seven bytes.
func (a reply) sendReply(w http.ResponseWriter, said *httptest.ResponseRecorder) {
	for name, values := range said.Header() {
		if name != simulator.Mark && name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	body := said.Body.Bytes()
	if a.SplitsSignatures {
		body = signatures.ReplaceAllFunc(body, splitSignature)
	}
	if a.EchoesKey {
		w.Header().Set("X-Debug-Auth", "key="+a.key)
		if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
			body = append([]byte(": "+a.key+"\n\n"), body...)
		}
	}
	w.WriteHeader(said.Code)
	const piece = 7
	for len(body) > 0 {
		n := min(piece, len(body))
		if _, err := w.Write(body[:n]); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		body = body[n:]
	}
}

var signatures = regexp.MustCompile(`event: content_block_delta\ndata: (\{[^\n]*"signature_delta","signature":")([^"]*)("[^\n]*\})\n\n`)

// splitSignature makes two events of one.
func splitSignature(event []byte) []byte {
	part := signatures.FindSubmatch(event)
	half := len(part[2]) / 2
	return fmt.Appendf(nil,
		"event: content_block_delta\ndata: %s%s\",\"part\":1%s\n\nevent: content_block_delta\ndata: %s%s\",\"part\":2%s\n\n",
		part[1], part[2][:half], part[3][1:], part[1], part[2][half:], part[3][1:])
}
