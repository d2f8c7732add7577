package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/event"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/proxy/record"
)

// maxLiveRequest is the longest request that is sent to a provider, in bytes: more
// than any of them accepts.
const maxLiveRequest = 64 << 20

// admitRequests lets next send only what may be sent: to the host of the case's provider, for a
// model that is allowed, and within the budget. Anything else ends the run. Requests
// that ask nothing of a model, such as telemetry, are refused and cost nothing.
func (s *liveSource) admitRequests(p Permutation, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLiveRequest))
		if err != nil {
			panic(http.ErrAbortHandler) // the client left, or sends without an end
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		asked := cassette.Request{Method: r.Method, URL: r.URL.String(), Header: r.Header, Body: record.DecompressRequest(r.Header.Clone(), body)}
		if event.Operation(asked) == llm.Other {
			refuseRequest(w, r, http.StatusNotFound, "not passed on: a live run only asks models, counts tokens and lists models")
			return
		}
		reason := s.forbiddenReason(p, r, asked)
		if reason == "" {
			reason = s.account.admitRequest()
		}
		if reason != "" {
			s.guard.endRun(&GuardError{fmt.Sprintf("%s: %s; spent until then: %s", p.Name(), reason, s.account.totalSpent())})
			refuseRequest(w, r, http.StatusForbidden, reason)
			return
		}
		operation := event.Operation(asked)
		about := liveRequest{model: event.Summarise(asked).Model, size: int64(len(asked.Body)), generates: operation == llm.Stream || operation == llm.Unary}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), liveRequestKey{}, about)))
	})
}

// liveRequest is what the transport has to know of a request to count its cost.
type liveRequest struct {
	model     string
	size      int64 // of its body, in bytes
	generates bool  // a reply of a model, which costs tokens
}

type liveRequestKey struct{}

// forbiddenReason says why a request must not be sent at all, "" when it may.
func (s *liveSource) forbiddenReason(p Permutation, r *http.Request, asked cassette.Request) string {
	provider := p.Case.Target.Provider
	if r.URL.Scheme != "https" || r.URL.Host != llm.Host(provider) {
		return fmt.Sprintf("the agent asked %s, and a live case of %s only asks %s", r.URL.Host, provider, llm.Host(provider))
	}
	model := event.Summarise(asked).Model
	if model == "" {
		return ""
	}
	if s.Prices != nil {
		if _, ok := s.Prices.PriceOf(model); !ok {
			return fmt.Sprintf("the agent asked for the model %q, of which --prices names no price; add it", model)
		}
	}
	if ok, why := s.allowsModel(model); !ok {
		return fmt.Sprintf("the agent asked for the model %q, which is not allowed: %s; allow it with --allow-model %s", model, why, model)
	}
	return ""
}

// refuseRequest answers a request that is not passed on, in the provider's words.
func refuseRequest(w http.ResponseWriter, r *http.Request, status int, reason string) {
	contentType, body := llm.ErrorBody(llm.Provider(r.URL.Host, r.URL.Path), status, reason)
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Should-Retry", "false")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON for an agent, whose text is quoted
}
