package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"
)

const (
	// uploadHead is how long a request waits to be complete before it is sent on.
	// Almost every request is then sent from memory and with its length.
	uploadHead = 5 * time.Millisecond
	// uploadPatience is how long a client may pause in its upload when its reply
	// has ended already.
	uploadPatience = time.Second
)

// upload is the body of a request on its way from the client. A goroutine collects it, so that
// it can be sent on while it arrives, sent again when a connection fails, and saved. Its methods
// are safe for concurrent use.
type upload struct {
	from  *http.Request
	clock func() time.Time
	done  chan struct{} // closed when nothing more comes

	mu        sync.Mutex
	grown     sync.Cond
	body      *spool
	isOver    bool
	isUnused  bool      // the body is not sent after this, and its spool may be closed
	err       error     // why the body is not complete
	completed time.Time // when isOver was set
}

// startUpload begins to collect the body of r. It returns when the body is complete, or after
// uploadHead.
func startUpload(r *http.Request, body *spool, clock func() time.Time) *upload {
	body.required = true // the provider must get exactly what the client sent
	body.reserveMemory(r.ContentLength)
	u := &upload{from: r, clock: clock, done: make(chan struct{}), body: body}
	u.grown.L = &u.mu
	if r.Body == nil || r.Body == http.NoBody {
		u.end(nil)
		return u
	}
	go u.collect()
	head := time.NewTimer(uploadHead)
	defer head.Stop()
	select {
	case <-u.done:
	case <-head.C:
	}
	return u
}

func (u *upload) collect() {
	buf := copyBuffers.Get().(*[32 << 10]byte)
	defer copyBuffers.Put(buf)
	for {
		n, err := u.from.Body.Read(buf[:])
		u.mu.Lock()
		_, _ = u.body.Write(buf[:n])
		u.grown.Broadcast()
		u.mu.Unlock()
		if err == io.EOF {
			u.end(nil)
			return
		}
		if err != nil {
			u.end(err)
			return
		}
	}
}

func (u *upload) end(err error) {
	u.mu.Lock()
	u.isOver, u.err, u.completed = true, err, u.clock()
	u.grown.Broadcast()
	u.mu.Unlock()
	close(u.done)
}

// release ends the sending of the body. The caller may close its spool afterwards.
func (u *upload) release() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.isUnused = true
	u.grown.Broadcast()
}

// state reports whether nothing more of the body comes, and why it is not complete.
func (u *upload) state() (isOver bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.isOver, u.err
}

// finish waits for the rest of the upload after the reply has ended. When the client pauses
// for uploadPatience, it ends the reading and returns errUnsent: the client has seen that its
// request is refused.
func (u *upload) finish(w http.ResponseWriter) error {
	for before := int64(-1); ; {
		pause := time.NewTimer(uploadPatience)
		select {
		case <-u.done:
			pause.Stop()
			_, err := u.state()
			return err
		case <-pause.C:
		}
		u.mu.Lock()
		size := u.body.size
		u.mu.Unlock()
		if size == before {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // ends collect
			<-u.done
			return errUnsent
		}
		before = size
	}
}

var errUnsent = errors.New("the client did not send the rest")

// attachTo gives the request to the provider the body, and the trailer that follows the body.
func (u *upload) attachTo(out *http.Request) {
	isOver, _ := u.state()
	out.Trailer = maps.Clone(u.from.Trailer)
	switch {
	case isOver && u.body.size == 0 && len(out.Trailer) == 0:
		out.Body, out.ContentLength = http.NoBody, 0
		return
	case isOver && u.body.stored == 0: // the transport sends what is in memory in one piece with the header
		whole := u.body.mem
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(whole)), nil }
	default:
		out.GetBody = func() (io.ReadCloser, error) { return &uploadReader{upload: u, trailer: out.Trailer}, nil }
	}
	if out.ContentLength = u.from.ContentLength; isOver {
		out.ContentLength = u.body.size
	}
	if len(out.Trailer) > 0 {
		out.ContentLength = -1 // HTTP/1.1 has trailers in chunked bodies only
	}
	out.Body, _ = out.GetBody()
}

// uploadReader reads an upload from its beginning, while it grows.
type uploadReader struct {
	*upload
	trailer  http.Header // gets its values at the end
	at       int64
	isClosed bool
}

// Read waits for more of the body.
func (r *uploadReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.isUnused && !r.isClosed && !r.isOver && r.at == r.body.size {
		r.grown.Wait()
	}
	switch {
	case r.isClosed || r.isUnused:
		return 0, errors.New("the request is closed")
	case r.at < r.body.size:
		n, err := r.body.readAt(p, r.at)
		r.at += int64(n)
		return n, err
	case r.err != nil:
		return 0, fmt.Errorf("the client stopped its upload: %w", r.err)
	}
	for name := range r.trailer {
		r.trailer[name] = r.from.Trailer[name]
	}
	return 0, io.EOF
}

// Close ends a Read that waits.
func (r *uploadReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isClosed = true
	r.grown.Broadcast()
	return nil
}
