package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Parsed is what a record file holds.
type Parsed struct {
	Session Session
	// Good is the length of the intact part of the file in bytes; what follows
	// is a torn tail of one line, or blank.
	Good int
	// Unended is true when the last intact record lacks its newline.
	Unended bool
	// Chain goes on behind the last intact record.
	Chain Chain
}

// Parse reads the records in data; errors call it name. A last line that breaks
// off is a torn tail: a crash cut the write before anything relied on it. Any
// other damage is a *CorruptError, because skipping it would silently lose a
// part of the conversation.
func Parse(name string, data []byte) (Parsed, error) {
	var p Parsed
	for line, rest := 1, data; len(rest) > 0; line++ {
		text, after, ended := bytes.Cut(rest, []byte{'\n'})
		start := len(data) - len(rest)
		rest = after
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		good := len(data) - len(rest)
		if p.Session.ID != "" && len(bytes.TrimSpace(rest)) == 0 {
			whole := bytes.TrimRight(text, "\x00")
			if isTorn(whole) && readSeal(whole).stored == nil {
				break
			}
			if len(whole) < len(text) { // of this record, only the newline was lost
				text, good, ended = whole, start+len(whole), false
			}
		}
		if err := p.addLine(text); err != nil {
			return p, withLocation(name, line, err)
		}
		p.Good, p.Unended = good, !ended
	}
	if p.Session.ID == "" {
		return p, &CorruptError{Path: name, Line: 1, Err: errors.New("the header is missing")}
	}
	return p, nil
}

// isTorn reports whether line is the beginning of a record, or empty. It ignores
// trailing zeros, which some file systems leave in place of the rest.
func isTorn(line []byte) bool {
	var whole json.RawMessage
	err := json.NewDecoder(bytes.NewReader(line)).Decode(&whole)
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (p *Parsed) addLine(line []byte) error {
	s := readSeal(line)
	r, err := decodeSealed(line, s)
	if err == nil {
		err = p.Chain.follow(s)
	}
	if err != nil {
		return err
	}
	return p.Session.applyRecord(r)
}

func withLocation(name string, line int, err error) error {
	var version *VersionError
	if errors.As(err, &version) {
		version.Path = name
		return version
	}
	return &CorruptError{Path: name, Line: line, Err: err}
}
