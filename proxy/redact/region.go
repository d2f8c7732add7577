package redact

import "strings"

// region says what a part of a JSON document is for.
type region uint8

const (
	// settings configure something: here names decide.
	settings region = iota
	// tools are settings in which parameters are a schema.
	tools
	// variables are the arguments of a GraphQL query: their "input" is not a
	// conversation.
	variables
	// headers hold the headers or the environment of another program: every value may
	// be a credential.
	headers
	// conversation is what people, models and tools say. It is data, whatever its
	// members are called: a tool's arguments must come back as they were streamed.
	conversation
)

// inside returns what the object under a name is for, in one that is for r.
func (r region) inside(name []byte) region {
	if r == conversation || len(name) > maxName {
		return r
	}
	next, known := regionNames[string(name)]
	if !known {
		next, known = regionNames[spellingOf(name)]
	}
	if !known && isLanguage(name) {
		return conversation
	}
	switch {
	case known && string(name) == "input" && r == variables:
		return variables
	case known:
		return next
	case r == tools && (string(name) == "parameters" || string(name) == "properties"):
		return conversation
	case r == headers:
		return settings
	}
	return r
}

// isLanguage reports whether a name is the code of a language: under it are texts for people.
func isLanguage(name []byte) bool {
	return len(name) == 2 && languages[string(name)] || len(name) == 5 && (name[2] == '-' || name[2] == '_') && languages[string(name[:2])]
}

var languages = nameSet("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "ja", "ko", "zh", "sv", "da", "fi", "cs", "tr", "uk")

// spellingOf returns a name in lower case without separators.
func spellingOf(name []byte) string {
	return strings.ToLower(separators.Replace(string(name)))
}

var separators = strings.NewReplacer("_", "", "-", "")

// regionNames are the names that say what their object is for.
var regionNames = func() map[string]region {
	out := map[string]region{"tools": tools, "functions": tools, "functiondeclarations": tools, "variables": variables}
	for _, name := range []string{"headers", "extraheaders", "httpheaders", "requestheaders", "customheaders", "defaultheaders", "rawheaders", "env", "environment", "envs", "envvars", "environmentvariables"} {
		out[name] = headers
	}
	for _, name := range []string{
		"messages", "message", "contents", "content", "input", "system", "systeminstruction", "instructions", "prompt",
		"conversation", "history", "arguments", "output", "outputs", "candidates", "choices", "completion", "delta", "contentblock",
		"item", "part", "parts", "inputschema", "outputschema", "schema", "jsonschema", "parametersjsonschema", "responseschema",
		"responsejsonschema", "properties", "logprobs", "documents", "examples", "functioncall", "functionresponse",
		"labels", "i18n", "l10n", "translations", "translation", "locales", "locale", "strings", "captions", "placeholders", "tooltips",
	} {
		out[name] = conversation
	}
	return out
}()
