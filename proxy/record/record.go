// Package record passes an agent's requests on to the provider and keeps what
// went over the wire: bytes, chunk boundaries and times, trailers, and how each
// reply ended (DESIGN §4).
//
// The client comes first. Bytes reach it before they are kept, and nothing that
// goes wrong with the recording changes what it sees; what goes wrong is in the
// Report.
package record

import (
	"errors"
	"net/http"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Config describes a Recorder. Transport is required.
type Config struct {
	// Transport reaches the providers.
	Transport http.RoundTripper
	// Writer keeps the interactions, in the order in which they ended. The
	// recorder does not close it. nil keeps nothing.
	Writer interface {
		Append(cassette.Interaction) error
	}
	// Redactor returns a copy without secrets. It is required with Writer or
	// Observe: nothing unredacted leaves the recorder.
	Redactor interface {
		Interaction(cassette.Interaction) cassette.Interaction
	}
	// Gate sees each redacted interaction last and, by an error that must not
	// quote the secret, keeps it from being saved. nil lets all pass.
	Gate func(cassette.Interaction) error
	// Observe is told of each redacted interaction, saved or not, one at a
	// time. nil is told nothing.
	Observe func(cassette.Interaction)
	// Clock is the time; nil means time.Now.
	Clock func() time.Time
}

// Recorder is the handler of a recording proxy. Requests must come with an
// absolute URL. It is safe for concurrent use until Close.
type Recorder struct {
	cfg    Config
	spools *spooler
	ended  chan *exchange
	done   chan struct{}
	report Report // the keeper's until done
}

// backlog is how many ended interactions may wait to be saved. Beyond it a
// reply's end, never its bytes, waits for the disk.
const backlog = 1024

// New starts a recorder; Close ends it.
func New(cfg Config) (*Recorder, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Transport == nil || cfg.Redactor == nil && (cfg.Writer != nil || cfg.Observe != nil) {
		return nil, errors.New("record: a transport is required, and a redactor to keep anything")
	}
	spools, err := newSpooler()
	if err != nil {
		return nil, err
	}
	rec := &Recorder{cfg: cfg, spools: spools, ended: make(chan *exchange, backlog), done: make(chan struct{})}
	go rec.keepAll()
	return rec, nil
}

// Close waits until everything that ended is saved and returns what became of
// it. No request may be running: close the proxy first.
func (rec *Recorder) Close() Report {
	close(rec.ended)
	<-rec.done
	return rec.report
}

// ServeHTTP forwards one request and streams the reply back as it arrives.
func (rec *Recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := rec.spools.new()
	if _, err := body.ReadFrom(r.Body); err != nil {
		body.close()
		panic(http.ErrAbortHandler) // the client left before it had asked anything
	}
	x := rec.begin(r, body)
	defer func() { rec.ended <- x }()
	resp, err := rec.cfg.Transport.RoundTrip(outgoing(r, body))
	if err != nil {
		x.fail(w, r, err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	x.head(w, resp)
	if x.in.End = x.stream(w, r, resp); x.in.End != cassette.EndEOF {
		panic(http.ErrAbortHandler) // so that the client sees a cut reply, too
	}
	x.trailer(w, resp)
}
