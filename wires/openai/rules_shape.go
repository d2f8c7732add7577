package openai

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

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

// missingParameter breaks rule O-3.
func missingParameter(p *tree.Path) *rule.Refusal {
	return invalid("missing_required_parameter", p.String(), "Missing required parameter: '%s'.", p)
}

// unknownParameter breaks rule O-4.
func unknownParameter(p *tree.Path) *rule.Refusal {
	return invalid("unknown_parameter", p.String(), "Unknown parameter: '%s'.", p)
}

// wrongType breaks rule O-5.
func wrongType(p *tree.Path, s *shape, v *tree.Node) *rule.Refusal {
	return invalid("invalid_type", p.String(), "Invalid type for '%s': expected %s, but got %s instead.", p, s.expectedWords(), describeKind(v.Kind()))
}

// unsupportedValue breaks rule O-5, and O-16 for the parts of a message.
func unsupportedValue(p *tree.Path, got string, values []string) *rule.Refusal {
	return invalid("invalid_value", p.String(), "Invalid value: '%s'. Supported values are: %s.", got, quoteList(values, "and"))
}

// belowMinimum and above break rule O-6.
func belowMinimum(p *tree.Path, s *shape, v *tree.Node) *rule.Refusal {
	return invalid(s.unit()+"_below_min_value", p.String(), "Invalid '%s': %s below minimum value. Expected a value >= %s, but got %s instead.",
		p, s.unit(), plainNumber(s.least), v.Raw())
}

func aboveMaximum(p *tree.Path, s *shape, v *tree.Node) *rule.Refusal {
	return invalid(s.unit()+"_above_max_value", p.String(), "Invalid '%s': %s above maximum value. Expected a value <= %s, but got %s instead.",
		p, s.unit(), plainNumber(s.most), v.Raw())
}

func (s *shape) unit() string {
	if s.kinds&tree.Decimal != 0 {
		return "decimal"
	}
	return "integer"
}

func plainNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// emptyString, tooLong, arrayTooLong and tooManyProperties break rule O-7.
func emptyString(p *tree.Path) *rule.Refusal {
	return invalid("empty_string", p.String(), "Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", p)
}

func tooLong(p *tree.Path, most, got int) *rule.Refusal {
	return invalid("string_above_max_length", p.String(), "Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", p, most, got)
}

func arrayTooLong(p *tree.Path, most, got int) *rule.Refusal {
	return invalid("array_above_max_length", p.String(), "Invalid '%s': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", p, most, got)
}

func tooManyProperties(p *tree.Path, most, got int) *rule.Refusal {
	return invalid("object_above_max_properties", p.String(), "Invalid '%s': too many properties. Expected an object with at most %d properties, but got an object with %d properties instead.", p, most, got)
}

// strangeID and foreignID break rule O-8.
func strangeID(p *tree.Path, id string) *rule.Refusal {
	return invalid("invalid_value", p.String(), "Invalid '%s': '%s'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.", p, id)
}

func foreignID(p *tree.Path, id, begin string) *rule.Refusal {
	return invalid("invalid_value", p.String(), "Invalid '%s': '%s'. Expected an ID that begins with '%s'.", p, id, begin)
}

// patternMismatch breaks rule O-18.
func patternMismatch(p *tree.Path, pattern *regexp.Regexp) *rule.Refusal {
	return invalid("invalid_value", p.String(), "Invalid '%s': string does not match pattern. Expected a string that matches the pattern '%s'.", p, pattern)
}

// expectedWords names what may stand in a place.
func (s *shape) expectedWords() string {
	if s.enum != nil && s.kinds&^tree.Null == tree.String {
		return "one of " + quoteList(s.enum, "or")
	}
	var words []string
	for k := tree.Bool; k <= tree.Object; k <<= 1 {
		if s.kinds&k != 0 && (k != tree.Integer || s.kinds&tree.Decimal == 0) {
			words = append(words, s.kindWord(k))
		}
	}
	if len(words) == 1 {
		return withArticle(words[0])
	}
	return "one of " + withArticle(words[0]) + " or " + strings.Join(words[1:], " or ")
}

func (s *shape) kindWord(k tree.Kind) string {
	if k == tree.Array && s.elem != nil {
		switch s.elem.kinds &^ tree.Null {
		case tree.Object:
			return "array of objects"
		case tree.String:
			return "array of strings"
		default: // a mixture has no name
		}
	}
	return nameOf(k)
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
