package openai

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/wires/members"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// invalid is a 400 of the usual class. param is "" where the API sends null.
func invalid(code, param, format string, args ...any) *rule.Refusal {
	return &rule.Refusal{
		Status: http.StatusBadRequest, Type: "invalid_request_error", Code: code, Param: param,
		Message: fmt.Sprintf(format, args...),
	}
}

// unsupportedValue breaks rule O-5, and O-16 for the parts of a message.
func unsupportedValue(p *tree.Path, got string, values []string) *rule.Refusal {
	return invalid("invalid_value", p.String(), "Invalid value: '%s'. Supported values are: %s.", got, quoteList(values, "and"))
}

// outOfRange breaks rule O-6.
func outOfRange(p *tree.Path, m *members.Member, v *tree.Node) *rule.Refusal {
	unit := "integer"
	if m.Types == "n" {
		unit = "decimal"
	}
	if n, _ := v.Number(); m.Min != nil && n < *m.Min {
		return invalid(unit+"_below_min_value", p.String(), "Invalid '%s': %s below minimum value. Expected a value >= %s, but got %s instead.",
			p, unit, plainNumber(*m.Min), v.Raw())
	}
	return invalid(unit+"_above_max_value", p.String(), "Invalid '%s': %s above maximum value. Expected a value <= %s, but got %s instead.",
		p, unit, plainNumber(*m.Max), v.Raw())
}

func plainNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// wrongLength breaks rule O-7.
func wrongLength(p *tree.Path, m *members.Member, v *tree.Node) *rule.Refusal {
	switch {
	case v.Is(tree.Array):
		return arrayTooLong(p, int(*m.Max), len(v.Items()))
	case v.Is(tree.Object):
		return invalid("object_above_max_properties", p.String(), "Invalid '%s': too many properties. Expected an object with at most %g properties, but got an object with %d properties instead.", p, *m.Max, len(v.Items()))
	case v.Text() == "":
		return invalid("empty_string", p.String(), "Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", p)
	}
	return invalid("string_above_max_length", p.String(), "Invalid '%s': string too long. Expected a string with maximum length %s, but got a string with length %d instead.",
		p, plainNumber(*m.Max), utf8.RuneCountInString(v.Text()))
}

func arrayTooLong(p *tree.Path, most, got int) *rule.Refusal {
	return invalid("array_above_max_length", p.String(), "Invalid '%s': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", p, most, got)
}

// expectedWords names what may stand in a place.
func expectedWords(m *members.Member) string {
	if m.Values != nil && m.Types == "s" {
		return "one of " + quoteList(m.Values, "or")
	}
	var words []string
	for i, letter := range "binsao" { // in the API's order
		if strings.ContainsRune(m.Types, letter) {
			words = append(words, []string{"boolean", "integer", "decimal", "string", "array", "object"}[i])
		}
		if letter == 'a' && strings.Contains(m.Types, "a") {
			switch {
			case m.Object != "" || m.Element != nil && m.Element.Types == "o":
				words[len(words)-1] = "array of objects"
			case m.Element != nil && m.Element.Types == "s":
				words[len(words)-1] = "array of strings"
			}
		}
	}
	if len(words) == 1 {
		return withArticle(words[0])
	}
	return "one of " + withArticle(words[0]) + " or " + strings.Join(words[1:], " or ")
}

// nameOf names a kind as the API does.
func nameOf(k tree.Kind) string {
	switch k {
	case tree.Null:
		return "null"
	case tree.Bool:
		return "boolean"
	case tree.Integer:
		return "integer"
	case tree.Decimal:
		return "decimal"
	case tree.String:
		return "string"
	case tree.Array:
		return "array"
	default:
		return "object"
	}
}

// describeKind names a kind that is not expected.
func describeKind(k tree.Kind) string {
	if k == tree.Null {
		return "null"
	}
	return withArticle(nameOf(k))
}

func withArticle(word string) string {
	if strings.ContainsRune("aio", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

// quoteList lists values as the API does: 'a', 'b', and 'c'.
func quoteList(values []string, last string) string {
	switch n := len(values); n {
	case 0:
		return ""
	case 1:
		return "'" + values[0] + "'"
	case 2:
		return "'" + values[0] + "' " + last + " '" + values[1] + "'"
	default:
		return "'" + strings.Join(values[:n-1], "', '") + "', " + last + " '" + values[n-1] + "'"
	}
}
