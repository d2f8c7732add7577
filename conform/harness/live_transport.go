package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/event"
	"github.com/meerkat-go/conformance/proxy/llm"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/wire"
)

// keyedTransport exchanges the made-up key of a request for the real one on its way
// out, and takes the real one out of the reply. So the key is neither in what the agent
// can see nor in what is recorded, both of which are on the other side of it.
type keyedTransport struct {
	keys   map[string]string // by provider
	next   http.RoundTripper
	mask   *evidence.Mask
	charge func(model string, u Usage, isReported bool)
}

// RoundTrip sends r.
func (t keyedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	provider := llm.Provider(r.URL.Host, r.URL.Path)
	out := r.Clone(r.Context())
	if key := t.keys[provider]; key != "" && withdrawMadeUpKeys(out) {
		llm.SetKey(out.Header, provider, key)
	}
	out.Header.Set("Accept-Encoding", "identity") // so that the reply can be searched
	resp, err := t.next.RoundTrip(out)
	if err != nil {
		return nil, errors.New(t.mask.Text(err.Error())) //nolint:err113 // its text may hold the key
	}
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		_ = resp.Body.Close()
		return nil,
			fmt.Errorf("%s answered with Content-Encoding %s, which it was not asked for and which cannot be searched for your key", r.URL.Host, encoding)
	}
	t.mask.Header(resp.Header)
	resp.Body = t.mask.Body(t.meterReply(r, resp), func() { t.mask.Header(resp.Trailer) })
	return resp, nil
}

// meterReply counts the tokens of a reply before its bytes are passed on: the client's next
// request is already counted against them.
func (t keyedTransport) meterReply(r *http.Request, resp *http.Response) io.ReadCloser {
	asked, ok := r.Context().Value(liveRequestKey{}).(liveRequest)
	if !ok {
		return resp.Body
	}
	return &meter{
		ReadCloser: resp.Body, provider: llm.Provider(r.URL.Host, r.URL.Path),
		contentType: resp.Header.Get("Content-Type"), announced: resp.ContentLength, asked: asked.size,
		isPaid: asked.generates && resp.StatusCode < http.StatusBadRequest,
		charge: func(u Usage, isReported bool) { t.charge(asked.model, u, isReported) },
	}
}

// withdrawMadeUpKeys takes the made-up keys out of a request and reports whether there
// was one. An agent that sends no key gets none.
func withdrawMadeUpKeys(r *http.Request) (found bool) {
	for name, values := range r.Header {
		if madeUpKey.MatchString(strings.Join(values, " ")) {
			found = true
			delete(r.Header, name)
		}
	}
	query := r.URL.Query()
	for name, values := range query {
		if !madeUpKey.MatchString(strings.Join(values, " ")) {
			continue
		}
		found = true
		query.Del(name)
		u := *r.URL
		u.RawQuery = query.Encode()
		r.URL = &u
	}
	return found
}

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
		asked := cassette.Request{Method: r.Method, URL: r.URL.String(), Header: r.Header,
			Body: record.DecompressRequest(r.Header.Clone(), body)}
		if event.Operation(asked) == llm.Other {
			refuseRequest(w, r, http.StatusNotFound,
				"not passed on: a live run only asks models, counts tokens and lists models")
			return
		}
		reason := s.forbiddenReason(p, r, asked)
		if reason == "" {
			reason = s.account.admitRequest()
		}
		if reason != "" {
			s.guard.endRun(&GuardError{fmt.Sprintf("%s: %s; spent until then: %s", p.Name(), reason,
				s.account.totalSpent())})
			refuseRequest(w, r, http.StatusForbidden, reason)
			return
		}
		operation := event.Operation(asked)
		about := liveRequest{model: event.Summarise(asked).Model, size: int64(len(asked.Body)),
			generates: operation == llm.Stream || operation == llm.Unary}
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
		return fmt.Sprintf("the agent asked %s, and a live case of %s only asks %s", r.URL.Host, provider,
			llm.Host(provider))
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
		return fmt.Sprintf("the agent asked for the model %q, which is not allowed: %s; allow it with --allow-model %s",
			model, why, model)
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

// shortfall is why a case with a real model cannot show what it was written to show,
// without any fault of the agent. The zero value is not a shortfall.
type shortfall struct {
	reason string
	// isModels says that the model chose to do something else: another try may help.
	isModels bool
}

// liveShortfall looks for what kept a case from its end: a provider that could not
// answer, then a model that did not call the tools it was asked to call.
func liveShortfall(ev *evidence.Evidence, steps []Step, own map[string]string) shortfall {
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		isLast := i+1 == len(ev.Exchanges) || ev.Exchanges[i+1].Process != x.Process
		if why := explainUnavailability(x); why != "" && isLast {
			why = fmt.Sprintf("%s to request %d", why, x.Index)
			if isUnanswered(x) {
				why += ": its host cannot be reached from here, or it closed the connection; check the network and --upstream"
			}
			return shortfall{reason: why}
		}
	}
	for i, step := range steps {
		if i >= len(ev.Process) || ev.Process[i].ExitCode != 0 ||
			!slices.ContainsFunc(ev.Exchanges, func(x evidence.Exchange) bool { return x.Process == i }) {
			continue // the agent itself did not get so far
		}
		for _, role := range step.Calls {
			if !slices.ContainsFunc(ev.Exchanges,
				func(x evidence.Exchange) bool { return x.Process == i && callsRole(&x, role, own[role]) }) {
				return shortfall{fmt.Sprintf("the model did not call the %s tool in step %d, which it was asked to do",
					role, i), true}
			}
		}
	}
	return shortfall{}
}

// explainUnavailability says how a provider answered that did not work for this user at this
// time, "" when it answered or refused what the agent sent.
func explainUnavailability(x *evidence.Exchange) string {
	status := x.Response.Status
	switch {
	case isUnanswered(x):
		return "the provider gave no reply"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Sprintf("the provider does not accept the key in %s: it answered %d",
			wires.Find(x.Provider).Environment.KeyNames(), status)
	case status == http.StatusPaymentRequired || status == http.StatusTooManyRequests ||
		status >= http.StatusInternalServerError:
		return fmt.Sprintf("the provider answered %d", status)
	case status == http.StatusBadRequest && outOfCredit.Match(x.Response.Body):
		return "the provider wants to be paid first"
	}
	return ""
}

// isUnanswered reports whether no reply of the provider arrived.
func isUnanswered(x *evidence.Exchange) bool {
	return x.Response.Status == 0 || x.Provenance == evidence.ProvenanceInjected
}

// outOfCredit is how Anthropic refuses an account without money.
var outOfCredit = regexp.MustCompile(`(?i)credit balance is too low`)

// callsRole reports whether the model calls the tool with a role in a reply: by its
// name, before which agents put that of the server, by code that names it, or by the name
// of the agent's own tool, if it has one for the role.
func callsRole(x *evidence.Exchange, role, own string) bool {
	name := "conform_" + role
	reply := x.ReadReply()
	return slices.ContainsFunc(reply.Items, func(it wire.Item) bool {
		return it.What == wire.Call &&
			(own != "" && it.Name == own || strings.HasSuffix(it.Name, name) || strings.Contains(it.Args, name))
	})
}

// refusals are the requests that the provider refused, in its own words.
func refusals(ev *evidence.Evidence) (list []string) {
	for i := range ev.Exchanges {
		x := &ev.Exchanges[i]
		if status := x.Response.Status; status >= 400 && status < 500 && explainUnavailability(x) == "" {
			list = append(list, fmt.Sprintf("the provider refused request %d with %d%s", x.Index, status,
				said(x.Response.Body)))
		}
	}
	return list
}

// liveRecording is what one case with a provider keeps: evidence, and a cassette where
// one is wanted.
type liveRecording struct {
	config     record.Config // for the recorders of the steps
	path       string
	writer     *cassette.Writer // nil where no cassette is wanted
	isAnswered atomic.Bool      // a request was answered with success
}

// replyProvenance is what may be claimed of replies. Only what the providers' own hosts say
// is live, and an authority for a stand-in signs for any host.
func (s *liveSource) replyProvenance() string {
	if len(s.Upstream) > 0 || s.Roots != nil {
		return cassette.ProvenanceSynthetic
	}
	return cassette.ProvenanceLive
}

// openRecording prepares to keep one case.
func (s *liveSource) openRecording(p Permutation, step func() int) (*liveRecording, error) {
	provenance := s.replyProvenance()
	r := &liveRecording{config: record.Config{
		Transport: s.transport, Redactor: s.gate.Watch(s.redactor), Gate: s.gate.Check, Provenance: provenance,
		Note: func(_ *http.Request, in *cassette.Interaction) {
			in.Process = step() + 1
			if p.wayIn() == proxy.BaseURL {
				in.Ingress = cassette.IngressBaseURL
			}
			if provenance != cassette.ProvenanceLive {
				in.Provenance = provenance
			}
		},
	}}
	if s.Record == "" {
		return r, nil
	}
	name := p.Case.Scenario.Name
	if p.wayIn() != proxy.MITM {
		name += "@" + p.wayIn()
	}
	r.path = filepath.Join(s.Record, p.Case.Target.Provider, name+".yaml")
	var err error
	r.writer, err = cassette.Create(r.path, cassette.Meta{
		Provenance: provenance, Tool: s.Tool, Created: time.Now().UTC().Format(time.RFC3339),
		Redaction: s.redactor.Rules(),
	}, cassette.CreateOptions{Force: true})
	if err != nil {
		return nil, err
	}
	r.writer.Revise(func() (again func(cassette.Interaction) (cassette.Interaction, error), first int) {
		return record.LastLook(s.redactor, s.gate)
	})
	r.config.Writer = r.writer
	return r, nil
}

// close saves the cassette and returns its path. A provider that answered nothing is
// no reason to lose what it said before: the old cassette stays.
func (r *liveRecording) close() (path string, err error) {
	if r == nil || r.writer == nil {
		return "", nil
	}
	if !r.isAnswered.Load() {
		return "", r.writer.Discard()
	}
	return r.path, r.writer.Close()
}
