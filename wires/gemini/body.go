package gemini

import (
	"fmt"
	"math"
	"strconv"

	"github.com/meerkat-go/conformance/wires/tree"
)

// maxDepth is how deep messages may nest.
const maxDepth = 100

// syntaxWords are what the API's parser says of a body that is not JSON.
var syntaxWords = map[tree.Problem]string{
	tree.ValueExpected:     "Expected a value.",
	tree.NameExpected:      "Expected an object key or }.",
	tree.ColonExpected:     "Expected : between key:value pair.",
	tree.MemberEndExpected: "Expected , or } after key:value pair.",
	tree.ItemEndExpected:   "Expected , or ] after array value.",
	tree.QuoteExpected:     "Closing quote expected in string.",
	tree.EndExpected:       "Parsing terminated before end of input.",
	tree.ControlCharacter:  "Invalid control character in string.",
	tree.BadEscape:         "Invalid escape sequence.",
	tree.BadNumber:         "Unable to parse number.",
	tree.BadWord:           "Unexpected token.",
}

// parseBody reads one JSON value. A fault is in the words of the API's parser, which
// show the place; "" when there is none.
func parseBody(body []byte) (root *tree.Node, fault string) {
	root, failure := tree.ParseLenient(body, maxDepth)
	if failure == nil {
		return root, ""
	}
	if failure.Problem == tree.TooDeep {
		return nil, "Message too deep. Max recursion depth reached for key ''"
	}
	words, at := syntaxWords[failure.Problem], failure.Offset
	if at >= len(body) {
		words = "Unexpected end of string. " + words
	}
	const context = 20
	from, to := max(0, at-context), min(len(body), at+context)
	return nil, fmt.Sprintf("Invalid JSON payload received. %s\n%s\n%*s", words, body[from:to], at-from+1, "^")
}

// elementsOf returns the elements of an array. Any other value counts as a list of
// one.
func elementsOf(n *tree.Node) []*tree.Node {
	switch {
	case n == nil || n.Is(tree.Null):
		return nil
	case n.Is(tree.Array):
		return n.Items()
	}
	return []*tree.Node{n}
}

// numberOf returns the value of a number, which may stand in a string.
func numberOf(n *tree.Node) (value float64, ok bool) {
	if !n.Is(tree.String) {
		return n.Number()
	}
	value, err := strconv.ParseFloat(n.Text(), 64)
	return value, err == nil
}

// canonical writes arguments for a digest. They are a protobuf Struct, a map of
// doubles and strings: of two members with one name the last is kept, and integers
// above 2^53 are rounded.
var canonical = tree.Canonical{AppendNumber: appendDouble, LastWins: true}

// appendDouble writes 1, 1.0 and 1e0 alike. What is beyond a float64 keeps its digits.
func appendDouble(out []byte, literal string) []byte {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return append(out, literal...)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.AppendInt(out, int64(f), 10)
	}
	return strconv.AppendFloat(out, f, 'g', -1, 64)
}
