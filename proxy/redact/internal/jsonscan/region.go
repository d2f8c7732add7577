package jsonscan

import (
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/names"
)

// Region says what a part of a JSON document is for.
type Region uint8

const (
	// Settings configure something: here names decide.
	Settings Region = iota
	// Tools are settings in which parameters are a schema.
	Tools
	// Variables are the arguments of a GraphQL query: their "input" is not a
	// conversation.
	Variables
	// Headers hold the headers or the environment of another program: every value may
	// be a credential.
	Headers
	// Conversation is what people, models and tools say. It is data, whatever its
	// members are called: a tool's arguments must come back as they were streamed.
	Conversation
)

// inside returns what the object under a name is for, in one that is for r.
func (r Region) inside(name []byte) Region {
	if r == Conversation || len(name) > names.MaxLength {
		return r
	}
	next, known := regionNames[string(name)]
	if !known {
		next, known = regionNames[names.Spelling(name)]
	}
	if !known && isLanguage(name) {
		return Conversation
	}
	switch {
	case known && string(name) == "input" && r == Variables:
		return Variables
	case known:
		return next
	case r == Tools && (string(name) == "parameters" || string(name) == "properties"):
		return Conversation
	case r == Headers:
		return Settings
	}
	return r
}

// regionNames are the names that say what their object is for.
var regionNames = func() map[string]Region {
	out := map[string]Region{"tools": Tools, "functions": Tools, "functiondeclarations": Tools, "variables": Variables}
	for _, name := range lex.Words(
		"headers extraheaders httpheaders requestheaders customheaders defaultheaders rawheaders",
		"env envs environment envvars environmentvariables",
	) {
		out[name] = Headers
	}
	for _, name := range lex.Words(
		// what a request and a reply of a model say
		"messages message contents content input system systeminstruction instructions prompt conversation history",
		"output outputs candidates choices completion delta contentblock item part parts logprobs documents examples",
		// calls of tools
		"arguments functioncall functionresponse",
		// schemas
		"inputschema outputschema schema jsonschema parametersjsonschema responseschema responsejsonschema properties",
		// texts for people
		"labels i18n l10n translations translation locales locale strings captions placeholders tooltips",
	) {
		out[name] = Conversation
	}
	return out
}()

// HoldsHeaders reports whether a name is that of the headers or of the environment of another program.
func HoldsHeaders(name []byte) bool {
	return len(name) <= names.MaxLength &&
		(regionNames[string(name)] == Headers || regionNames[names.Spelling(name)] == Headers)
}

// isLanguage reports whether a name is the code of a language: under it are texts for people.
func isLanguage(name []byte) bool {
	return len(name) == 2 && languages[string(name)] || len(name) == 5 && (name[2] == '-' || name[2] == '_') &&
		languages[string(name[:2])]
}

var languages = lex.Set("en de fr es it pt nl pl ru ja ko zh sv da fi cs tr uk")
