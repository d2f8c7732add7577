package gemini

import (
	"fmt"
	"math"
	"strconv"

	"github.com/meerkat-go/conformance/simulator/jsontree"
)

// maxDepth is how deep messages may nest.
const maxDepth = 100

// syntaxWords are what the API's parser says of a body that is not JSON.
var syntaxWords = map[jsontree.Problem]string{
	jsontree.ValueExpected:     "Expected a value.",
	jsontree.NameExpected:      "Expected an object key or }.",
	jsontree.ColonExpected:     "Expected : between key:value pair.",
	jsontree.MemberEndExpected: "Expected , or } after key:value pair.",
	jsontree.ItemEndExpected:   "Expected , or ] after array value.",
	jsontree.QuoteExpected:     "Closing quote expected in string.",
	jsontree.EndExpected:       "Parsing terminated before end of input.",
	jsontree.ControlCharacter:  "Invalid control character in string.",
	jsontree.BadEscape:         "Invalid escape sequence.",
	jsontree.BadNumber:         "Unable to parse number.",
	jsontree.BadWord:           "Unexpected token.",
}

// parseBody reads one JSON value. A fault is in the words of the API's parser, which
// show the place; "" when there is none.
func parseBody(body []byte) (root *jsontree.Node, fault string) {
	root, failure := jsontree.ParseLenient(body, maxDepth)
	if failure == nil {
		return root, ""
	}
	if failure.Problem == jsontree.TooDeep {
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
func elementsOf(n *jsontree.Node) []jsontree.Node {
	switch {
	case n == nil || n.Is(jsontree.Null):
		return nil
	case n.Is(jsontree.Array):
		return n.Items()
	}
	return []jsontree.Node{*n}
}

// numberOf returns the value of a number, which may stand in a string.
func numberOf(n *jsontree.Node) (value float64, ok bool) {
	if !n.Is(jsontree.String) {
		return n.Number()
	}
	value, err := strconv.ParseFloat(n.Text(), 64)
	return value, err == nil
}

// canonical writes arguments for a digest. They are a protobuf Struct, a map of
// doubles and strings: of two members with one name the last is kept, and integers
// above 2^53 are rounded.
var canonical = jsontree.Canonical{AppendNumber: appendDouble, LastWins: true}

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
