package record

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/llm"
)

// exchange is an interaction in progress. The handler owns it until it is passed
// to the saver.
type exchange struct {
	in       cassette.Interaction // without its bodies
	provider string
	upload   *upload
	request  *spool // the body of the request, which upload fills
	response *spool // nil when nothing is kept
	chunks   *spool // the times and lengths of the response's chunks, as uvarints

	limit  int64 // the longest body of a response that is kept, in bytes
	length int64 // of the response's body, kept or not
	drain  int64 // how many bytes may be read after the client has left

	clock    func() time.Time
	sent     time.Time // when the request was complete
	answered time.Time // when the header of the response came
	ended    time.Time // when the last bytes of the response came

	failure error // why there is no response
	unsent  error // why the request is not complete, although there is a response

	final  []byte        // the last bytes of the response, which the client gets after saved
	isRead bool          // the response was read to its end, final included
	saved  chan struct{} // closed when it is in the file, or cannot be

	out outcome // of saving

	isLive bool        // the head of the cassette says that the provider answers
	local  atomic.Bool // the response came from this machine
}

// beginExchange begins to read the request. It returns when the request is complete, or after
// uploadHead.
func (rec *Recorder) beginExchange(r *http.Request) *exchange {
	clock := rec.exchangeClock()
	x := &exchange{
		in:       cassette.Interaction{Request: RequestOf(r, nil)},
		provider: llm.Provider(r.URL.Host, r.URL.Path),
		request:  rec.spools.newSpool(),
		clock:    clock,
		isLive:   rec.cfg.Provenance == cassette.ProvenanceLive,
		saved:    make(chan struct{}),
	}
	if rec.cfg.Note != nil {
		rec.cfg.Note(r, &x.in)
	}
	if rec.isKeeping() {
		x.response, x.chunks = rec.spools.newSpool(), rec.spools.newSpool()
		x.limit, x.drain = rec.cfg.MaxBody, rec.cfg.OnAbort.Bytes
	}
	if rec.cfg.Nominal != 0 {
		first := clock() // nominal times count steps, and the request is the first, whenever it ends
		clock = func() time.Time { return first }
	}
	x.upload = startUpload(r, x.request, clock)
	return x
}

// endUpload waits for the rest of the request: the response may have come before it.
func (x *exchange) endUpload(w http.ResponseWriter) {
	x.unsent = x.upload.finish(w)
	if x.sent = x.upload.completed; !x.answered.IsZero() && x.sent.After(x.answered) {
		x.sent = x.answered
	}
}

// endConnection closes the HTTP/1.1 connection of a client that did not send the rest of its
// request: what it still sends would be read as its next request.
func (x *exchange) endConnection(w http.ResponseWriter, r *http.Request) {
	if x.unsent == nil || r.ProtoMajor != 1 {
		return
	}
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// abortIfUploadBroken ends the handling of a request whose client left before it was complete.
func (x *exchange) abortIfUploadBroken() {
	if _, err := x.upload.state(); err != nil {
		x.close()
		panic(http.ErrAbortHandler)
	}
}

// bodySize returns the length of the bodies that will be saved, in bytes.
func (x *exchange) bodySize() int64 {
	n := x.request.size
	if x.response != nil {
		n += x.response.size
	}
	return n
}

// memoryHeld returns how many bytes of memory x needs until it is saved.
func (x *exchange) memoryHeld() int {
	n := 4096 + len(x.request.mem)
	if x.response != nil {
		n += len(x.response.mem) + len(x.chunks.mem)
	}
	return n
}

func (x *exchange) close() {
	if x.upload != nil {
		x.upload.release()
	}
	x.request.close()
	if x.response != nil {
		x.response.close()
		x.chunks.close()
	}
}
