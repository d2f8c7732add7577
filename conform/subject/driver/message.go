package driver

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/meerkat-go/conformance/internal/isolate"
)

// Protocol is the version of the protocol.
const Protocol = 1

// maxTotalBytes bounds what one driver process may write.
const maxTotalBytes = 64 << 20

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
		return answer{}, true, fmt.Errorf("wrote the answer %s, which cannot be read: %w",
			isolate.QuoteBeginning(line), err)
	}
	switch a.Type {
	case answerHello, answerOK, answerUnsupported, answerError:
	default:
		return answer{}, true,
			fmt.Errorf("wrote an answer of the type %q; use hello_ok, ok, unsupported or error", a.Type)
	}
	if a.ID < 1 {
		return answer{}, true, fmt.Errorf("wrote the answer %s without the id of its command",
			isolate.QuoteBeginning(line))
	}
	return a, true, nil
}

// answerReader reads the answers of a driver within the limits.
type answerReader struct {
	*isolate.Messages
	last answer
	err  error // what is wrong with it
}

func newAnswerReader(in io.Reader) *answerReader {
	r := &answerReader{}
	r.Messages = (&isolate.Messages{Unit: "line", Plural: "answers", Most: maxTotalBytes,
		IsMessage: func(line []byte) (isAnswer bool) {
			r.last, isAnswer, r.err = parseAnswer(line)
			return isAnswer
		}}).Open(in)
	return r
}

// nextAnswer returns the next answer. The error is io.EOF or says what is wrong.
func (r *answerReader) nextAnswer() (answer, error) {
	if _, err := r.Next(); err != nil {
		return answer{}, err
	}
	return r.last, r.err
}
