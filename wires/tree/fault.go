package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the depth that the library jsontext reads, for texts that are
// not known to have a limit of their own.
const MaxDepth = 10_000

var (
	// ErrTrailing says that more than white space follows the value.
	ErrTrailing = errors.New("trailing characters")
	// errTooDeep says that values are nested too deep.
	errTooDeep = errors.New("nested too deep")
)

// Problem is what keeps a text from being JSON.
type Problem uint8

// The problems. Those that name what was expected are at the byte where something
// else stands, or at the end of the text.
const (
	ValueExpected     Problem = iota // a value
	NameExpected                     // a member's name
	ColonExpected                    // the colon behind a name
	MemberEndExpected                // a comma or a closing brace
	ItemEndExpected                  // a comma or a closing bracket
	QuoteExpected                    // the quotation mark at a string's end
	EndExpected                      // nothing but white space
	ControlCharacter                 // a control character in a string
	BadEscape                        // a string that ends here has an escape that does not exist
	badText                          // a string that ends here is not valid Unicode
	BadNumber                        // a number that begins here is malformed
	BadWord                          // neither true nor false nor null
	TooDeep                          // values are nested too deep
)

// SyntaxError says where a text stops being JSON, and why.
type SyntaxError struct {
	Offset  int // in bytes
	Problem Problem
	Reason  string // for people; "" where the reader has words of its own
}

// Error is the place and the reason, to stand behind the name of the text.
func (e *SyntaxError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("byte %d: not valid JSON (problem %d)", e.Offset, e.Problem)
	}
	return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason)
}

// explainFault gives the fault of a text that is not JSON the place and the words of
// jsontext, token by token, so that the place is near the fault.
func explainFault(text string, fault *SyntaxError) *SyntaxError {
	d := jsontext.NewDecoder(bytes.NewBufferString(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if err := skipToken(d); err != nil {
			fault.Offset, fault.Reason = reasonOf(int(d.InputOffset()), err)
			return fault
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	fault.Offset = int(d.InputOffset())
	if _, err := d.ReadToken(); err == nil || !errors.Is(err, io.EOF) {
		fault.Reason = "more than one value"
		return fault
	}
	fault.Reason = "nested too deep"
	return fault
}

// skipToken passes a bracket, a brace, or a whole scalar.
func skipToken(d *jsontext.Decoder) error {
	container, length := d.StackIndex(d.StackDepth())
	isName, isMember := container == '{' && length%2 == 0, container == '{' && length%2 == 1
	switch next := d.PeekKind(); {
	case !isMember && (next == '}' || next == ']'), !isName && (next == '{' || next == '['):
		_, err := d.ReadToken()
		return err
	default:
		_, err := d.ReadValue()
		return err
	}
}

func reasonOf(offset int, err error) (int, string) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return offset, "ends too early"
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) && syntactic.Err != nil {
		offset, err = max(offset, int(syntactic.ByteOffset)), syntactic.Err
	}
	return offset, strings.TrimPrefix(err.Error(), "jsontext: ")
}

// describeFailure returns what jsontext says of a text that is not valid, nil when it
// finds nothing wrong. Names may be repeated in an object.
func describeFailure(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadValue(); err != nil {
		return err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return ErrTrailing
	}
	return nil
}
