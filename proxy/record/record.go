// Package record forwards an agent's requests to the provider and keeps what
// went over the wire: bytes, chunk boundaries and times, trailers, and how each
// reply ended.
//
// The way of an exchange, from the socket to the sealed file:
//
//	client ──▶ ServeHTTP ─▶ forward ──▶ provider       forward.go, upload.go
//	              │  ▲         │ each chunk is passed on, then kept in a spool (spool.go)
//	              │  └ end of the reply, held until saved
//	              ▼
//	           exchange ──▶ saver: what waits is a batch                     save.go
//	                          │ build ─▶ judge ─▶ redact ─▶ gate (─▶ mask)   prepare, each exchange
//	                          │ observe ─▶ journal ─▶ report                 saveBatch, in order
//	                          ▼
//	           cassette.Writer: the item, its seal, the file.partial;  Close: revise, verify, rename
//
// A stream of more than 32 MiB takes the same stages a window at a time (large.go).
//
// Start with [Config] and [New]. A [Recorder] is an http.Handler for a proxy;
// Close returns a [Report] of what was saved:
//
//	rec, err := record.New(record.Config{
//		Transport: transport, // reaches the providers
//		Writer:    cassette,  // a *cassette.Writer
//		Redactor:  redactor,
//		Gate:      gate.Check,
//	})
//	// serve requests with rec, then close the proxy
//	report := rec.Close()
//
// Recording does not change what the client sees. The bytes of a stream reach the client
// before they are kept, and a failure of the recording is in the Report only.
//
// The end of a reply waits until the reply is in the file: when this process is killed, no
// reply is lost that a client has seen to its end. What waits is the end of the stream, with
// the last bytes where these came together with it, and the last bytes of a reply of known
// length. Nothing waits for a reply of more than 1 MiB, or longer than five seconds, unless
// 64 MiB of replies wait in memory for a disk that is too slow.
//
// Nothing reaches the disk unredacted: a body that does not fit into memory goes
// to an encrypted temporary file without a name.
package record

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/meerkat-go/conformance/internal/websocket"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Config describes a Recorder. Transport is required.
type Config struct {
	// Transport reaches the providers.
	Transport http.RoundTripper
	// Writer keeps the interactions in the order in which they ended. Those that
	// ended while it was busy are passed together. When it returns, the end of the
	// process must not lose them. The recorder does not close it. nil keeps nothing.
	Writer interface {
		AppendAll([]cassette.Interaction) []error
	}
	// Redactor returns a copy without secrets. It is required with Writer or
	// Observe: nothing unredacted leaves the recorder. Redactor and Gate are called from
	// several goroutines. An interaction of more than 32 MiB goes to the Redactor's method
	// Overwrite, if it has one: it is like Interaction and may change the bodies that it
	// is given. A stream of such a length is redacted in windows if the Redactor has a method Late
	// as well, and written to the Writer's method AppendLarge, if that has one.
	Redactor interface {
		Interaction(cassette.Interaction) cassette.Interaction
	}
	// Gate checks each redacted interaction last. An error keeps the interaction
	// from being saved; it must not quote the secret. nil accepts all.
	Gate func(cassette.Interaction) error
	// Mask, if not nil, is called when Gate refuses an interaction. It teaches the Redactor
	// what was found, and reports whether that was new to it. Then the interaction is
	// redacted and checked again. Without Mask the interaction is not saved.
	Mask func(refusal error) bool
	// Observe receives each redacted interaction, saved or not, one at a time.
	// nil observes nothing.
	Observe func(cassette.Interaction)
	// AllowIncomplete accepts replies without their end: they are reported as
	// Declared, not as Cut. The cassette's meta should declare it. Without it, a
	// request that got no reply at all is not kept.
	AllowIncomplete bool
	// Provenance is what the head of the cassette says. In a live cassette, a reply
	// that came from this machine is marked as synthetic: a host name may lead to a
	// test server. So is a request that got no reply.
	Provenance string
	// Note, if not nil, sets what only the caller knows of a request, such as Ingress,
	// Process and Place. It is called once for each request, from several goroutines.
	Note func(*http.Request, *cassette.Interaction)
	// WholeOnly keeps incomplete replies that are not allowed out of the
	// cassette. Use it for a cassette that is replayed at the same time: it would
	// answer with the incomplete reply from then on.
	WholeOnly bool
	// MaxBody is the length of the longest body that is kept, in bytes; 0 means
	// DefaultMaxBody. A longer body reaches the client and is reported as lost. While a
	// body passes it is on disk; saving it takes little more than its length in
	// memory, for one large body at a time.
	MaxBody int64
	// OnAbort bounds how much of a reply is read after its client has left.
	OnAbort Drain
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time
	// Nominal, if not zero, replaces measured times: it is the time between one
	// step of an exchange and the next (the request's end, the reply's header,
	// each chunk, the reply's end). The cassette must declare it
	// ([cassette.DeclaredNominal]).
	Nominal time.Duration
}

// Drain bounds what is still read from the provider after the client has left
// (pitfall G2). The zero value reads nothing. Otherwise the rest of the reply is
// kept, up to Bytes and for at most Time, both of which are required; its ending
// is still a client abort.
type Drain struct {
	Bytes int64
	Time  time.Duration
}

func (d Drain) isEnabled() bool { return d.Bytes > 0 && d.Time > 0 }

// Recorder is the handler of a recording proxy. Requests must have an absolute
// URL. It is safe for concurrent use until Close.
type Recorder struct {
	cfg    Config
	spools *spooler
	saver  *saver
	large  windowing
	report Report // written by the saver alone, until it ends
}

// DefaultMaxBody is the default of Config.MaxBody, in bytes.
const DefaultMaxBody = 256 << 20

// New starts a recorder. Call Close to end it.
func New(cfg Config) (*Recorder, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = DefaultMaxBody
	}
	if cfg.Transport == nil || cfg.Redactor == nil && (cfg.Writer != nil || cfg.Observe != nil) {
		return nil, errors.New("record: a transport is required, and a redactor to keep anything")
	}
	spools, err := newSpooler()
	if err != nil {
		return nil, err
	}
	rec := &Recorder{cfg: cfg, spools: spools, large: windowing{least: huge, size: 2 << 20, overlap: 128 << 10}}
	rec.saver = newSaver(rec.saveBatch)
	return rec, nil
}

// exchangeClock returns the clock of one exchange.
func (rec *Recorder) exchangeClock() func() time.Time {
	if rec.cfg.Nominal == 0 {
		return rec.cfg.Clock
	}
	var now time.Time
	return func() time.Time {
		now = now.Add(rec.cfg.Nominal)
		return now
	}
}

// Close waits until everything that ended is saved, and returns what became of
// it. No request may be running: close the proxy first.
func (rec *Recorder) Close() Report {
	rec.saver.close()
	rec.spools.close()
	return rec.report
}

// ServeHTTP forwards one request, while it arrives, and streams the reply back as
// it arrives. The end of a reply reaches the client when the reply is saved.
//
// The handshake of a WebSocket is made with the provider first. Then each message of the
// client is a request of its own, and the events that answer it are the reply.
func (rec *Recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch session := websocket.SessionOf(r.Context()); {
	case websocket.IsUpgrade(r):
		rec.ServeWebSocket(w,
			r, func() http.Handler { return rec }) //nolint:contextcheck // the handler uses the context of r
	case session != nil:
		rec.forward(w, r, overSession{session, rec.cfg.Transport})
	default:
		rec.forward(w, r, rec.cfg.Transport)
	}
}

// save passes an exchange on to be saved, and waits until a small one is.
func (rec *Recorder) save(x *exchange, w http.ResponseWriter) {
	// Wait for the rest of the request: the response may have come before it.
	x.unsent = x.upload.finish(w)
	if x.sent = x.upload.completed; !x.answered.IsZero() && x.sent.After(x.answered) {
		x.sent = x.answered
	}
	if !rec.isKeeping() {
		x.close()
		return
	}
	isSmall := x.bodySize() <= holdBytes
	rec.saver.put(x)
	if !isSmall {
		return
	}
	limit := time.NewTimer(holdTime)
	defer limit.Stop()
	select {
	case <-x.saved:
	case <-limit.C:
	}
}

// upstreamContext returns the context of the request to the provider: the
// client's, or with a drain one that continues for a while after the client has
// left.
func (rec *Recorder) upstreamContext(client context.Context) (context.Context, func()) {
	if !rec.isKeeping() || !rec.cfg.OnAbort.isEnabled() {
		return client, func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(client))
	stop := context.AfterFunc(client, func() { time.AfterFunc(rec.cfg.OnAbort.Time, cancel) })
	return ctx, func() { stop(); cancel() }
}
