// Package wire reads the traffic of the three providers for the referee: JSON
// with its exact bytes, event streams, requests and replies.
//
// Start with [ReadRequest] and [ReadReply]. Both turn a body into a list of
// [Item]: texts, thinking, calls and results in one form for all providers, each
// with the [Place] where it stands. [Parse] reads a JSON document into a tree of
// [Node] that keeps the order of members and the bytes of every value:
//
//	reply := wire.ReadReply("anthropic", 200, body)
//	for _, item := range reply.Items {
//		fmt.Println(item.What, item.Path, item.Text)
//	}
//
// Reading never fails: what cannot be read is absent, and a check reports it. The
// package shares nothing with the decoders of any agent, and no agent may use
// it, because a bug on both sides would stay unseen. It keeps no state; values
// are plain data and may be read from any goroutine.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is the kind of a JSON value, named by the byte it begins with:
// '{' '[' '"' '0' 't' 'f' 'n'.
type Kind = jsontext.Kind

// Node is one JSON value with its exact bytes. Member order and duplicate names
// are kept, because a referee that loses them cannot see them change.
// The zero pointer is an absent value: every method works on nil.
type Node struct {
	Kind Kind
	// Raw is the value's bytes inside the parsed document, not copied.
	Raw []byte
	// Off is the offset of Raw in the parsed document.
	Off int
	// Names holds the member names of an object, parallel to Items.
	Names []string
	// Items holds the members' values of an object or the elements of an array.
	Items []*Node
}

// Parse reads exactly one JSON value. Duplicate names and invalid UTF-8 are
// kept; anything after the value but white space is an error.
func Parse(doc []byte) (*Node, error) {
	d := newDecoder(doc)
	n, err := d.readValue()
	if err != nil {
		return nil, newSyntaxError(d.dec.InputOffset(), err)
	}
	if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, &SyntaxError{n.Off + len(n.Raw), "more than one value"}
	}
	return n, nil
}

// SyntaxError says where and why a document is not JSON.
type SyntaxError struct {
	Offset int
	Reason string
}

// Error is the place and the reason, to stand behind the name of the document.
func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }

func newSyntaxError(offset int64, err error) *SyntaxError {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &SyntaxError{int(offset), "ends too early"}
	}
	var fault *jsontext.SyntacticError
	if errors.As(err, &fault) && fault.Err != nil {
		offset, err = max(offset, fault.ByteOffset), fault.Err
	}
	return &SyntaxError{int(offset), strings.TrimPrefix(err.Error(), "jsontext: ")}
}

// parseArray reads the elements of one JSON array as far as they are whole, and
// says whether the array was closed: a cut body still yields what arrived.
func parseArray(doc []byte) (elems []*Node, closed bool) {
	d := newDecoder(doc)
	if tok, err := d.dec.ReadToken(); err != nil || tok.Kind() != '[' {
		return nil, false
	}
	for d.dec.PeekKind() != ']' {
		n, err := d.readValue()
		if err != nil {
			return elems, false
		}
		elems = append(elems, n)
	}
	return elems, true
}

type decoder struct {
	doc []byte
	dec *jsontext.Decoder
}

func newDecoder(doc []byte) decoder {
	return decoder{doc, jsontext.NewDecoder(bytes.NewBuffer(doc),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

func (d decoder) readValue() (*Node, error) {
	switch k := d.dec.PeekKind(); k {
	case '{', '[':
		return d.readContainer(k)
	default:
		v, err := d.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(d.dec.InputOffset())
		off := end - len(v)
		return &Node{Kind: k, Raw: d.doc[off:end:end], Off: off}, nil
	}
}

func (d decoder) readContainer(k Kind) (*Node, error) {
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	n := &Node{Kind: k, Off: int(d.dec.InputOffset()) - 1}
	for p := d.dec.PeekKind(); p != '}' && p != ']'; p = d.dec.PeekKind() {
		if k == '{' {
			name, err := d.dec.ReadValue()
			if err != nil {
				return nil, err
			}
			n.Names = append(n.Names, unescapeString(name[1:len(name)-1]))
		}
		v, err := d.readValue()
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, v)
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return nil, err
	}
	end := int(d.dec.InputOffset())
	n.Raw = d.doc[n.Off:end:end]
	return n, nil
}

// Get returns the member called name, the last one if there are several (the
// one providers use), nil if there is none or n is not an object.
func (n *Node) Get(name string) *Node {
	if n == nil || n.Kind != '{' {
		return nil
	}
	for i := len(n.Names) - 1; i >= 0; i-- {
		if n.Names[i] == name {
			return n.Items[i]
		}
	}
	return nil
}

// Any returns the first member present among names: proto-JSON spells each name
// two ways (reference §1.3).
func (n *Node) Any(names ...string) *Node {
	for _, name := range names {
		if v := n.Get(name); v != nil {
			return v
		}
	}
	return nil
}

// Elems returns the elements of an array, nil for anything else.
func (n *Node) Elems() []*Node {
	if n == nil || n.Kind != '[' {
		return nil
	}
	return n.Items
}

// Is reports whether n is present and of kind k.
func (n *Node) Is(k Kind) bool { return n != nil && n.Kind == k }

// Null reports whether n is absent or null.
func (n *Node) Null() bool { return n == nil || n.Kind == 'n' }

// Str returns the text of a string, "" for anything else. Bytes that are not
// UTF-8 and lone surrogates survive, so that two different strings never
// compare equal.
func (n *Node) Str() string {
	if n == nil || n.Kind != '"' {
		return ""
	}
	return unescapeString(n.Raw[1 : len(n.Raw)-1])
}

// True reports whether n is the literal true.
func (n *Node) True() bool { return n != nil && n.Kind == 't' }

// Int returns the value of a whole number, -1 for anything else.
func (n *Node) Int() int {
	if n == nil || n.Kind != '0' || len(n.Raw) > 9 {
		return -1
	}
	v := 0
	for _, c := range n.Raw {
		if c < '0' || c > '9' {
			return -1
		}
		v = v*10 + int(c-'0')
	}
	return v
}
