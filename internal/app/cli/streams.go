package cli

import (
	"io"
	"sync"

	"github.com/meerkat-go/conformance/internal/terminal"
)

// textWriter is a stream for people. Text of others in it cannot control their
// terminal, unless they asked for it with --raw. It may be used concurrently.
type textWriter struct {
	w   io.Writer
	raw *bool

	mu      sync.Mutex
	visible *terminal.Writer
}

func newTextWriter(w io.Writer, raw *bool) *textWriter {
	return &textWriter{w: w, raw: raw, visible: terminal.NewWriter(w)}
}

func (t *textWriter) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *t.raw {
		return t.w.Write(p)
	}
	return t.visible.Write(p)
}

// WriteString is Write for text, which may be large and is not copied.
func (t *textWriter) WriteString(text string) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *t.raw {
		return io.WriteString(t.w, text)
	}
	return t.visible.WriteString(text)
}

// flush writes the beginning of a character that never got its end.
func (t *textWriter) flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.visible.Flush()
}

// Data returns stdout for bytes that were asked for as they are, such as a recorded
// body. Only on a terminal they are shown like text of others, unless --raw is given.
func (f *Frame) Data() io.Writer {
	if f.StdoutIsTerminal() {
		return f.Stdout
	}
	return f.results
}

// JSON returns stdout for JSON. Characters that would control a terminal are written as
// escapes, which mean the same; with --raw they stay.
func (f *Frame) JSON() io.Writer {
	if f.Raw {
		return f.results
	}
	return terminal.NewJSONWriter(f.results)
}
