package gemini

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
)

// spec is one model and what it takes (reference §6.3).
type spec struct {
	// Name is without "models/".
	Name    string
	Display string
	// Major and Minor are its version: 3.5 is 3 and 5.
	Major, Minor int
	// takes is what specs/capabilities.yaml says of it.
	takes specs.Capability
	// Invalid says that it calls a bad signature invalid, not corrupted.
	Invalid bool
	// Limit is the most tokens a request may have, Output a reply.
	Limit, Output int
}

// atLeast reports whether the model has at least that version.
func (m spec) atLeast(major, minor int) bool {
	return m.Major > major || m.Major == major && m.Minor >= minor
}

// needsSignatures reports whether calls must come back with their signatures (rule G-17).
func (m spec) needsSignatures() bool { return m.atLeast(3, 0) }

// family is the models that read each other's signatures: a generation. Nothing
// is known of finer borders, so there are none.
func (m spec) family() string { return "gemini-" + strconv.Itoa(m.Major) }

// models are those served. Generation 2 is there for agents that ask for it in
// error, and is checked as leniently as it answered.
var models = []spec{
	newSpec("gemini-2.0-flash", 2, 0),
	newSpec("gemini-2.0-flash-exp", 2, 0),
	newSpec("gemini-2.0-flash-lite", 2, 0),
	newSpec("gemini-2.5-flash", 2, 5),
	newSpec("gemini-2.5-flash-lite", 2, 5),
	newSpec("gemini-2.5-flash-lite-preview-06-17", 2, 5),
	newSpec("gemini-2.5-flash-preview-05-20", 2, 5),
	newSpec("gemini-2.5-pro", 2, 5),
	newSpec("gemini-2.5-pro-preview-03-25", 2, 5),
	newSpec("gemini-3-flash-preview", 3, 0),
	newSpec("gemini-3-pro-preview", 3, 0),
	newSpec("gemini-3.1-flash-lite", 3, 1),
	newSpec("gemini-3.1-flash-lite-preview", 3, 1),
	newSpec("gemini-3.1-pro-preview", 3, 1),
	newSpec("gemini-3.1-pro-preview-customtools", 3, 1),
	newSpec("gemini-3.5-flash", 3, 5),
	newSpec("gemini-3.5-flash-lite", 3, 5),
	newSpec("gemini-3.6-flash", 3, 6),
	newSpec("gemini-3.7-flash", 3, 7),
	newSpec("gemini-3.8-flash", 3, 8),
	newSpec("gemini-4-argon", 4, 0),
	newSpec("gemini-flash-latest", 2, 5),
}

func newSpec(name string, major, minor int) spec {
	return spec{
		Name: name, Display: displayName(name), Major: major, Minor: minor, takes: specs.FindCapability("gemini", name),
		Invalid: major > 3 || major == 3 && minor >= 5, Limit: 1 << 20, Output: 1 << 16,
	}
}

func displayName(name string) string {
	words := strings.Split(name, "-")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

// findModel returns a model by its name, with or without "models/".
func findModel(name string) (spec, bool) {
	name = strings.TrimPrefix(name, "models/")
	i := slices.IndexFunc(models, func(m spec) bool { return m.Name == name })
	if i < 0 {
		return spec{}, false
	}
	return models[i], true
}

// Served returns the names of the models, in order.
func Served() []string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.Name
	}
	return names
}

const (
	pageSize    = 50
	maxPageSize = 1000
)

// Models is the body of GET /v1beta/models: a page of so many models, 0 for the
// API's own size, from where token says; "" and what is not a token begin at the
// first (reference §1.3).
func Models(size int, token string) []byte {
	if size <= 0 {
		size = pageSize
	}
	from := pageStart(token)
	to := min(from+min(size, maxPageSize), len(models))
	list := script.Array{}
	for _, m := range models[from:to] {
		list = append(list, m.modelDocument())
	}
	page := script.Object{"models", list}
	if to < len(models) {
		page = append(page, "nextPageToken", base64.RawURLEncoding.EncodeToString([]byte(models[to].Name)))
	}
	return prettyJSON(script.JSON(page))
}

func pageStart(token string) int {
	name, err := base64.RawURLEncoding.DecodeString(token)
	i := slices.IndexFunc(models, func(m spec) bool { return m.Name == string(name) })
	if err != nil || i < 0 {
		return 0
	}
	return i
}

// Model is the body of GET /v1beta/models/NAME; false when the model
// does not exist.
func Model(name string) ([]byte, bool) {
	m, ok := findModel(name)
	if !ok {
		return nil, false
	}
	return prettyJSON(script.JSON(m.modelDocument())), true
}

func (m spec) modelDocument() script.Object {
	o := script.Object{
		"name", "models/" + m.Name, "version", "001", "displayName", m.Display,
		"description", "Simulated " + m.Display, "inputTokenLimit", m.Limit, "outputTokenLimit", m.Output,
		"supportedGenerationMethods", script.Array{"generateContent", "countTokens", "createCachedContent", "batchGenerateContent"},
		"temperature", 1, "topP", 0.95, "topK", 64, "maxTemperature", 2,
	}
	if m.atLeast(2, 5) {
		o = append(o, "thinking", true)
	}
	return o
}
