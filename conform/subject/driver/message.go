package driver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Protocol is the version of the protocol.
const Protocol = 1

// Limits of what one driver process may write.
const (
	maxLineBytes  = 8 << 20
	maxTotalBytes = 64 << 20
	maxOtherLines = 1000
)

// The types of answers.
const (
	answerHello       = "hello_ok"
	answerOK          = "ok"
	answerUnsupported = "unsupported"
	answerError       = "error"
)

// answer is one line of a driver. Members that a newer version adds are ignored.
type answer struct {
	ID   int    `json:"id"`
	Type string `json:"type"`
	// Of hello_ok.
	Name      string   `json:"name"`
	Version   string   `json:"version"`
	Abilities []string `json:"abilities"`
	Providers []string `json:"providers"`
	Ingress   []string `json:"ingress"`
	// Of ok: what the model said, why the turn ended, what resume gets.
	Text    string          `json:"text"`
	Stop    string          `json:"stop"`
	Session json.RawMessage `json:"session"`
	// Of unsupported and error.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// parseAnswer reads one line; false for a line that is not an answer, such as a warning
// that a library prints.
func parseAnswer(line []byte) (answer, bool, error) {
	var head struct{ Type *string }
	if json.Unmarshal(line, &head) != nil || head.Type == nil {
		return answer{}, false, nil //nolint:nilerr // a warning of a library is not an answer
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return answer{}, true, fmt.Errorf("wrote the answer %s, which cannot be read: %w", quoteBeginning(line), err)
	}
	switch a.Type {
	case answerHello, answerOK, answerUnsupported, answerError:
	default:
		return answer{}, true, fmt.Errorf("wrote an answer of the type %q; use hello_ok, ok, unsupported or error", a.Type)
	}
	if a.ID < 1 {
		return answer{}, true, fmt.Errorf("wrote the answer %s without the id of its command", quoteBeginning(line))
	}
	return a, true, nil
}

// answerReader reads the answers of a driver within the limits.
type answerReader struct {
	in         *bufio.Reader
	bytes      int64
	otherLines int
	other      string // the first line that is not an answer
}

func newAnswerReader(in io.Reader) *answerReader {
	return &answerReader{in: bufio.NewReaderSize(in, 64<<10)}
}

// nextAnswer returns the next answer. The error is io.EOF or says what is wrong.
func (r *answerReader) nextAnswer() (answer, error) {
	for {
		line, err := r.readLine()
		if err != nil && len(line) == 0 {
			return answer{}, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		a, isAnswer, err := parseAnswer(line)
		if isAnswer {
			return a, err
		}
		if r.otherLines == 0 {
			r.other = quoteBeginning(line)
		}
		if r.otherLines++; r.otherLines > maxOtherLines {
			return answer{}, fmt.Errorf("wrote more than %d lines that are not answers, the first was %s", maxOtherLines, r.other)
		}
	}
}

// readLine reads one line. The last one may have no end.
func (r *answerReader) readLine() (line []byte, err error) {
	for {
		part, err := r.in.ReadSlice('\n')
		r.bytes += int64(len(part))
		switch {
		case len(line)+len(part) > maxLineBytes:
			return nil, fmt.Errorf("wrote a line of more than %d MiB", maxLineBytes>>20)
		case r.bytes > maxTotalBytes:
			return nil, fmt.Errorf("wrote more than %d MiB", maxTotalBytes>>20)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// quoteBeginning is the beginning of a line, quoted.
func quoteBeginning(line []byte) string {
	const most = 120
	if len(line) > most {
		return fmt.Sprintf("%q…", line[:most])
	}
	return fmt.Sprintf("%q", line)
}
