package gemini

import (
	"cmp"
	_ "embed" // for models.yaml
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
)

//go:embed models.yaml
var modelFile []byte

// modelLine is a row of models.yaml, which explains the keys.
type modelLine struct {
	As      string   `yaml:"as"`
	Context int      `yaml:"context" data:"required"`
	Output  int      `yaml:"output" data:"required"`
	IDs     []string `yaml:"ids" data:"required"`
}

// model is one model and what it takes.
type model struct {
	// id is without "models/".
	id string
	specs.ModelName
	modelLine
	// takes is what specs/capabilities.yaml says of it.
	takes specs.Capability
}

// needsSignatures reports whether calls must come back with their signatures (rule G-17).
func (m *model) needsSignatures() bool { return !m.IsBefore(3, 0) }

// family is the models that read each other's signatures: a generation. Nothing
// is known of finer borders, so there are none.
func (m *model) family() string { return "gemini-" + strconv.Itoa(m.Major) }

// models are those served.
var models = readModels()

func readModels() (list []model) {
	for _, line := range datafile.Embedded[[]modelLine]("wires/gemini/models.yaml", modelFile, datafile.Options{}) {
		for _, id := range line.IDs {
			list = append(list, model{id, specs.ParseModel(cmp.Or(line.As, id)), line,
				specs.FindCapability("gemini", id)})
		}
	}
	return list
}

func (m *model) displayName() string {
	words := strings.Split(m.id, "-")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

// findModel returns a model by its name, with or without "models/".
func findModel(name string) (model, bool) {
	name = strings.TrimPrefix(name, "models/")
	i := slices.IndexFunc(models, func(m model) bool { return m.id == name })
	if i < 0 {
		return model{}, false
	}
	return models[i], true
}

// Served returns the names of the models, in order.
func Served() []string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.id
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
		page = append(page, "nextPageToken", base64.RawURLEncoding.EncodeToString([]byte(models[to].id)))
	}
	return prettyJSON(script.JSON(page))
}

func pageStart(token string) int {
	name, err := base64.RawURLEncoding.DecodeString(token)
	i := slices.IndexFunc(models, func(m model) bool { return m.id == string(name) })
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

func (m *model) modelDocument() script.Object {
	display := m.displayName()
	o := script.Object{
		"name", "models/" + m.id, "version", "001", "displayName", display,
		"description", "Simulated " + display, "inputTokenLimit", m.Context, "outputTokenLimit", m.Output,
		"supportedGenerationMethods", script.Array{"generateContent", "countTokens", "createCachedContent",
			"batchGenerateContent"},
		"temperature", 1, "topP", 0.95, "topK", 64, "maxTemperature", 2,
	}
	if !m.IsBefore(2, 5) {
		o = append(o, "thinking", true)
	}
	return o
}
