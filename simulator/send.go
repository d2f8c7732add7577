package simulator

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/meerkat-go/conformance/internal/inprocess"
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

// maxWindow is the largest window of zstd that RFC 9659 allows in HTTP, in bytes.
const maxWindow = 8 << 20

// maxCodings bounds how often a body is unpacked.
const maxCodings = 4

// codings are the content codings that clients use for what they send.
var codings = map[string]func(io.Reader) (io.Reader, error){
	"identity": func(r io.Reader) (io.Reader, error) { return r, nil },
	"gzip":     func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"x-gzip":   func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"deflate":  func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
	"br":       func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
	"zstd": func(r io.Reader) (io.Reader, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	},
}

// errUnknownCoding says that a body is coded in a way that is not known, or too often.
var errUnknownCoding = errors.New("unknown content coding")

// decodeBody undoes the codings of a request's body, the last one first. The error is a
// [*http.MaxBytesError] where more comes out than a provider takes. A body that is damaged
// is left as it is: no rule can read it.
func decodeBody(h http.Header, body []byte) ([]byte, error) {
	names := strings.FieldsFunc(strings.ToLower(strings.Join(h.Values("Content-Encoding"), ",")),
		func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) > maxCodings || slices.ContainsFunc(names, func(name string) bool { return codings[name] == nil }) {
		return nil, errUnknownCoding
	}
	plain := body
	for _, name := range slices.Backward(names) {
		r, err := codings[name](bytes.NewReader(plain))
		if err != nil {
			return body, nil
		}
		plain, err = io.ReadAll(io.LimitReader(r, maxRequest+1))
		if closer, ok := r.(io.Closer); ok {
			_ = closer.Close()
		}
		switch {
		case len(plain) > maxRequest:
			return nil, &http.MaxBytesError{Limit: maxRequest}
		case err != nil:
			return body, nil
		}
	}
	return plain, nil
}

// Transport asks h, a simulator, in this process, without a socket: what it flushes
// arrives as one piece, on every machine and under any load.
func Transport(h http.Handler) http.RoundTripper { return inprocess.Transport(h) }
