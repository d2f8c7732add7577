package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Path is where a value stands: a member or an element of the value at its parent.
// The nil Path is the root.
type Path struct {
	parent *Path
	name   string // "" for an element
	index  int
}

// Name returns the name of the member, "" for an element and for the root.
func (p *Path) Name() string {
	if p == nil {
		return ""
	}
	return p.name
}

// String returns the path as OpenAI and Google write it: "input[2].content".
func (p *Path) String() string {
	switch {
	case p == nil:
		return ""
	case p.name == "":
		return p.parent.String() + "[" + strconv.Itoa(p.index) + "]"
	case p.parent == nil:
		return p.name
	}
	return p.parent.String() + "." + p.name
}

// Dotted returns the path as Anthropic writes it: "messages.2.content".
func (p *Path) Dotted() string {
	if p == nil {
		return ""
	}
	name := p.name
	if name == "" {
		name = strconv.Itoa(p.index)
	}
	if p.parent == nil {
		return name
	}
	return p.parent.Dotted() + "." + name
}

// Paths makes the paths of one tree, many in one piece of memory. The zero Paths is
// ready. It is for one goroutine.
type Paths struct{ room []Path }

// Member returns the path of a member of the value at parent.
func (s *Paths) Member(parent *Path, name string) *Path {
	return s.putPath(Path{parent: parent, name: name})
}

// Element returns the path of an element of the array at parent.
func (s *Paths) Element(parent *Path, index int) *Path {
	return s.putPath(Path{parent: parent, index: index})
}

func (s *Paths) putPath(p Path) *Path {
	if len(s.room) == 0 {
		s.room = make([]Path, minRoom)
	}
	kept := &s.room[0]
	s.room = s.room[1:]
	*kept = p
	return kept
}

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
	d := jsontext.NewDecoder(bytes.NewBufferString(text), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
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
