package proxy

import "net/http"

// hopByHop are the headers that belong to one connection and not to the message,
// and those that would lead the client around the proxy (pitfall G13).
var hopByHop = []string{"Alt-Svc", "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Transfer-Encoding", "Upgrade"}

// streamWriter sends every Write to the client at once, whatever its content
// type (pitfall G6), and removes hop-by-hop headers.
type streamWriter struct {
	http.ResponseWriter
	flush     func() error
	cork      *corkConn // nil where nothing is to be corked
	hasChunks bool      // HTTP/1.1, in which a body of unknown length is sent in chunks
	started   bool      // the final status was written
	flushed   bool      // a part of the body was sent to the client
}

func newStreamWriter(w http.ResponseWriter, r *http.Request) *streamWriter {
	out := &streamWriter{ResponseWriter: w, flush: http.NewResponseController(w).Flush, hasChunks: r.ProtoMajor == 1 && r.ProtoAtLeast(1, 1)}
	if r.ProtoMajor == 1 {
		out.cork = corkOf(r.Context()) // a connection of HTTP/2 is shared with other requests
	}
	return out
}

func (w *streamWriter) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		w.started = true
	}
	if status == http.StatusSwitchingProtocols {
		w.ResponseWriter.WriteHeader(status) // its Connection and Upgrade are the answer
		return
	}
	for _, name := range hopByHop {
		w.Header().Del(name)
	}
	if w.started && w.hasChunks && w.Header().Get("Content-Length") == "" {
		w.Header().Set("Transfer-Encoding", "chunked") // or net/http adds the length of a reply that it has as a whole
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *streamWriter) Write(p []byte) (n int, err error) {
	if w.cork != nil && len(p) > corkFrom && len(p) <= corkTo {
		w.cork.cork()
		defer func() {
			if uncorked := w.cork.uncork(); err == nil {
				err = uncorked
			}
		}()
	}
	if n, err = w.writeBody(p); err == nil {
		w.flushed, err = true, w.flush()
	}
	return n, err
}

// WriteEnd writes the last bytes of a reply, so that they leave in one write with its end: when
// the handler returns. They leave at once where the reply has a Content-Length, which is its
// end, and where they are all of a reply without chunks: net/http would add the length of a
// reply that it has as a whole.
func (w *streamWriter) WriteEnd(last []byte) (int, error) {
	if !w.flushed && !w.hasChunks || w.Header().Get("Content-Length") != "" {
		return w.Write(last)
	}
	return w.writeBody(last)
}

func (w *streamWriter) writeBody(p []byte) (int, error) {
	if !w.started {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
