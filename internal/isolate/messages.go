package isolate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Bounds of what a program may write that speaks a protocol of lines. Many programs write a banner or a
// warning first.
const (
	maxMessageBytes = 8 << 20
	maxOtherLines   = 1000
)

// Messages reads the output of a program that speaks a protocol of one message a line, within bounds.
// Lines that are not messages are left out.
type Messages struct {
	// IsMessage reports whether a line, which is neither empty nor has its end, is a message.
	IsMessage func(line []byte) bool
	// Unit and Plural are words for one line and for messages, Most bounds all that is read in bytes.
	Unit, Plural string
	Most         int64

	in     *bufio.Reader
	read   int64
	others int
	mu     sync.Mutex
	first  string // of the other lines
}

// OverflowError says which bound a program went beyond.
type OverflowError struct{ text string }

// Error is the end of a sentence about the program.
func (e *OverflowError) Error() string { return e.text }

// Overflow makes an [OverflowError].
func Overflow(format string, args ...any) error { return &OverflowError{fmt.Sprintf(format, args...)} }

// Open begins to read.
func (m *Messages) Open(in io.Reader) *Messages {
	m.in = bufio.NewReaderSize(in, 64<<10)
	return m
}

// Next returns the next message without the end of its line. The error is an [*OverflowError] or says why
// the output cannot be read; the last line may have no end.
func (m *Messages) Next() ([]byte, error) {
	for {
		line, err := m.readLine()
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 && err != nil:
			return nil, err
		case len(line) == 0:
			continue
		case m.IsMessage(line):
			return line, nil
		}
		m.mu.Lock()
		if m.others == 0 {
			m.first = QuoteBeginning(line)
		}
		m.mu.Unlock()
		if m.others++; m.others > maxOtherLines {
			return nil, Overflow("wrote more than %d lines that are not %s, the first was %s", maxOtherLines,
				m.Plural, m.first)
		}
	}
}

func (m *Messages) readLine() (line []byte, err error) {
	for {
		part, err := m.in.ReadSlice('\n')
		m.read += int64(len(part))
		switch {
		case len(line)+len(part) > maxMessageBytes:
			return nil, Overflow("wrote a %s of more than %d MiB", m.Unit, maxMessageBytes>>20)
		case m.read > m.Most:
			return nil, Overflow("wrote more than %d MiB", m.Most>>20)
		}
		if line = append(line, part...); !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Noise continues a sentence about the program: which line was no message. It is empty if all were.
func (m *Messages) Noise() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first == "" {
		return ""
	}
	return "; it wrote lines that are not " + m.Plural + ", the first was " + m.first
}

// QuoteBeginning is the beginning of a text, quoted, in one line.
func QuoteBeginning[T ~string | ~[]byte](text T) string {
	const most = 120
	if len(text) > most {
		return fmt.Sprintf("%q", string(text[:most])+"…")
	}
	return fmt.Sprintf("%q", text)
}
