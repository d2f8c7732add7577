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
	return invalid("invalid_value", p.String(), "Invalid value: '%s'. Supported values are: %s.", got,
		quoteList(values, "and"))
}

// outOfRange breaks rule O-6.
func outOfRange(p *tree.Path, m *members.Member, v *tree.Node) *rule.Refusal {
	unit := "integer"
	if m.Types == "n" {
		unit = "decimal"
	}
	if n, _ := v.Number(); m.Min != nil && n < *m.Min {
		return invalid(unit+"_below_min_value", p.String(),
			"Invalid '%s': %s below minimum value. Expected a value >= %s, but got %s instead.",
			p, unit, plainNumber(*m.Min), v.Raw())
	}
	return invalid(unit+"_above_max_value", p.String(),
		"Invalid '%s': %s above maximum value. Expected a value <= %s, but got %s instead.",
		p, unit, plainNumber(*m.Max), v.Raw())
}

func plainNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// wrongLength breaks rule O-7.
func wrongLength(p *tree.Path, m *members.Member, v *tree.Node) *rule.Refusal {
	switch {
	case v.Is(tree.Array):
		return arrayTooLong(p, int(*m.Max), len(v.Items()))
	case v.Is(tree.Object):
		return invalid("object_above_max_properties", p.String(),
			"Invalid '%s': too many properties. Expected an object with at most %g properties, but got an object with %d properties instead.", p, *m.Max, len(v.Items()))
	case v.Text() == "":
		return invalid("empty_string", p.String(),
			"Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string instead.", p)
	}
	return invalid("string_above_max_length", p.String(),
		"Invalid '%s': string too long. Expected a string with maximum length %s, but got a string with length %d instead.",
		p, plainNumber(*m.Max), utf8.RuneCountInString(v.Text()))
}

func arrayTooLong(p *tree.Path, most, got int) *rule.Refusal {
	return invalid("array_above_max_length", p.String(),
		"Invalid '%s': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", p, most, got)
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

// formatRules are about the form of the answer.
var formatRules = []rule.Rule[*request]{
	judged("PAR-007/range", sureRule("O-33",
		"json_object is asked for in an input that has the word JSON; instructions do not count", reported),
		jsonMentioned),
}

// jsonMentioned has the words that https://github.com/pydantic/pydantic-ai quotes in
// models/openai.py, with the param of an error in the tests of
// https://github.com/reVrost/go-openrouter. The word may stand in what the request goes
// on from.
func jsonMentioned(q *request, p *rule.Pass) {
	if q.body.Get("text", "format").Text("type") != "json_object" || q.body.Get("input").Mentions("json") ||
		q.continuesStored(p.Key) {
		return
	}
	refusal := invalid("", "input",
		"Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.")
	if !q.isOwnModel || q.body.Get("input") == nil {
		p.Refuse(refusal)
		return
	}
	p.Report("text.format.type", "text.format is json_object, and the word JSON is not in the input").Refuse(refusal)
}

// Accounts that lack something. A made-up key chooses one: "test-key@zdr".
const (
	accountZDR        = "zdr"        // keeps nothing: Zero Data Retention
	accountUnverified = "unverified" // may not see summaries
	accountExhausted  = "exhausted"  // has no money left
)

var accessRules = []rule.Rule[*request]{
	liveRule("O-1", "there is a key", recorded, rule.High, keyGiven),
	liveRule("O-1", "the key is valid; one that begins with invalid or test-invalid is not", recorded,
		rule.High, keyValid),
	liveRule("O-31", "the account has quota; the account \"exhausted\" has none", recorded, rule.High, quotaLeft),
	basicRule(liveRule("O-5", "the body is one JSON object", recorded, rule.High, bodyReadable)),
}

const keysPage = "https://platform.openai.com/account/api-keys."

func unauthorised(message string) *rule.Refusal {
	return &rule.Refusal{Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "invalid_api_key",
		Message: message}
}

func keyGiven(q *request, _ rule.Env) *rule.Refusal {
	if q.key != "" {
		return nil
	}
	return unauthorised("You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth " +
		"(i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're accessing the API from your browser " +
		"and are prompted for a username and password. You can obtain an API key from " + keysPage)
}

func keyValid(q *request, _ rule.Env) *rule.Refusal {
	if !strings.HasPrefix(strings.TrimPrefix(q.key, "test-"), "invalid") {
		return nil
	}
	return unauthorised("Incorrect API key provided: " + maskKey(q.key) + ". You can find your API key at " + keysPage)
}

// maskKey shows the first eight and the last four characters of a key.
func maskKey(key string) string {
	const head, tail = 8, 4
	if len(key) <= head+tail {
		return key
	}
	return key[:head] + strings.Repeat("*", len(key)-head-tail) + key[len(key)-tail:]
}

func quotaLeft(q *request, _ rule.Env) *rule.Refusal {
	if q.account != accountExhausted {
		return nil
	}
	return &rule.Refusal{
		Status: http.StatusTooManyRequests, Type: "insufficient_quota", Code: "insufficient_quota",
		Message: "You exceeded your current quota, please check your plan and billing details. For more information on this error, " +
			"read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
	}
}

func bodyReadable(q *request, _ rule.Env) *rule.Refusal {
	if q.err == nil {
		return nil
	}
	return invalid("", "",
		"We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. "+
			"The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)")
}
