// Package simulator serves the provider's side of a scenario over HTTP: one
// address answers for Anthropic, OpenAI and Gemini, statelessly, with the
// streams, chunks and breaks the script asks for.
package simulator

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/simulator/anthropic"
	"github.com/meerkat-go/conformance/simulator/gemini"
	"github.com/meerkat-go/conformance/simulator/openai"
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/simulator/seal"
	"github.com/meerkat-go/conformance/specs"
)

// maxRequest is the largest request body that a provider takes (reference
// §1.1).
const maxRequest = 32 << 20

var voices = []script.Voice{anthropic.Voice{}, openai.Voice{}, gemini.Voice{}}

// Config says what to serve. Only Scenario is mandatory.
type Config struct {
	Scenario *specs.Scenario
	// Seed is that of every id, token and padding. Equal seeds give equal
	// bytes.
	Seed string
	// Now is the provider's clock. Nil: a fixed time.
	Now func() time.Time
	// Pace is the pause between two writes, so that they arrive as two.
	Pace time.Duration
}

// epoch is the time a provider has by default.
var epoch = time.Date(2026, time.November, 21, 9, 0, 0, 0, time.UTC)

// New returns a handler that plays the provider's side of a scenario. It keeps
// nothing between requests and is safe for concurrent use.
func New(c Config) http.Handler {
	if c.Now == nil {
		c.Now = func() time.Time { return epoch }
	}
	return &handler{pace: c.Pace, script: &script.Script{Scenario: c.Scenario, Key: seal.NewKey(c.Seed), Now: c.Now}}
}

type handler struct {
	script *script.Script
	pace   time.Duration
}

// ServeHTTP answers one model call, other paths with 404.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i := slices.IndexFunc(voices, func(v script.Voice) bool { return v.Serves(r.URL.Path) })
	if i < 0 || r.Method != http.MethodPost {
		http.Error(w, fmt.Sprintf("simulator: %s %s is no model call of a provider", r.Method, r.URL.Path), http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, "simulator: the request exceeds 32 MB", http.StatusRequestEntityTooLarge)
	case err != nil:
		panic(http.ErrAbortHandler) // the client is gone
	case realKey(r):
		h.play(w, r, script.Refused(voices[i], script.RefuseAuth, "the simulator refuses a key that looks real; set a made-up one"))
	default:
		h.play(w, r, h.script.Answer(voices[i], r, body))
	}
}

// play performs a plan. Each write is flushed and becomes one chunk.
func (h *handler) play(w http.ResponseWriter, r *http.Request, p script.Plan) {
	for name, values := range p.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(p.Status)
	out := http.NewResponseController(w)
	for _, chunk := range p.Writes {
		if _, err := w.Write(chunk); err != nil || out.Flush() != nil {
			panic(http.ErrAbortHandler)
		}
		if !pause(r, h.pace) {
			return
		}
	}
	if p.Abort {
		panic(http.ErrAbortHandler)
	}
}

// pause waits and reports whether the client is still there.
func pause(r *http.Request, d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// realKey reports whether the request carries what looks like somebody's key:
// it would be written down by whatever records the traffic.
func realKey(r *http.Request) bool {
	sent := []string{r.Header.Get("x-api-key"), r.Header.Get("x-goog-api-key"), r.URL.Query().Get("key"),
		strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
	return slices.ContainsFunc(sent, func(key string) bool {
		return strings.HasPrefix(key, "sk-") || strings.HasPrefix(key, "AIza")
	})
}
