package simulator

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
)

// writePlan performs a plan. Each write of a stream is flushed and becomes one chunk;
// a document that is whole says its length.
func (h *handler) writePlan(w http.ResponseWriter, r *http.Request, p script.Plan) {
	out := http.NewResponseController(w)
	_ = out.SetWriteDeadline(time.Now().Add(h.clientTimeout + time.Duration(len(p.Writes))*h.Pace)) // a recorder has none
	maps.Copy(w.Header(), p.Header)
	w.Header().Set(Mark, markSimulated)
	if p.Injected {
		w.Header().Set(Mark, markInjected)
	}
	if w.Header().Get("Date") == "" {
		w.Header().Set("Date", h.Now().UTC().Format(http.TimeFormat))
	}
	if p.Document() {
		w.Header().Set("Content-Length", strconv.Itoa(len(p.Writes[0])))
		w.WriteHeader(p.Status)
		_, _ = w.Write(p.Writes[0]) // the client may be gone
		h.reportSent(p)
		return
	}
	w.WriteHeader(p.Status)
	p.Header = nil // streams may be held open by the thousand
	for _, chunk := range p.Writes {
		if _, err := w.Write(chunk); err != nil || out.Flush() != nil {
			panic(http.ErrAbortHandler)
		}
		if !pauseWrite(r, h.Pace) {
			return
		}
	}
	if p.Stall {
		_ = out.Flush() // the header, when nothing else was sent
	}
	h.reportSent(p)
	if p.Stall {
		h.stayOpen(r)
	}
	if p.Abort || p.Stall {
		panic(http.ErrAbortHandler)
	}
}

// maxLenientStall is how long a reply of a lenient scenario stays silent before the
// connection breaks: a client without a clock is not waited for.
const maxLenientStall = 5 * time.Second

// stayOpen waits until the client leaves, or has waited long enough.
func (h *handler) stayOpen(r *http.Request) {
	if !h.isLenient() || slices.ContainsFunc(h.Scenario.Steps, func(s specs.Step) bool { return s.Interrupt }) {
		<-r.Context().Done()
		return
	}
	pauseWrite(r, maxLenientStall)
}

func (h *handler) reportSent(p script.Plan) {
	if h.Sent != nil && p.Turn != nil {
		h.Sent(*p.Turn)
	}
}

// pauseWrite waits and reports whether the client is still there.
func pauseWrite(r *http.Request, d time.Duration) bool {
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
