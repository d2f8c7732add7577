package openai

import (
	_ "embed" // for models.yaml
	"slices"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
)

//go:embed models.yaml
var modelFile []byte

// model is one model that is served and what it takes (reference §6.2).
type model struct {
	id string
	modelLine
	// efforts are those of reasoning.effort in specs/capabilities.yaml; none at all means that
	// the model does not reason.
	efforts []string
	// effort is the one it has when none is set.
	effort string
}

// modelLine is a row of models.yaml, which explains the keys.
type modelLine struct {
	Family  string   `yaml:"family" data:"required"`
	Created int      `yaml:"created" data:"required"`
	Context int      `yaml:"context" data:"required"`
	Can     []string `yaml:"can" data:"one=context mode phase binds"`
	IDs     []string `yaml:"ids" data:"required"`
}

// The settings that only some models take.
const (
	canContext = "context"
	canMode    = "mode"
	canPhase   = "phase"
	binds      = "binds"
)

func (m *model) reasons() bool { return len(m.efforts) > 0 }

func (m *model) hasTrait(trait string) bool { return slices.Contains(m.Can, trait) }

// thinks reports whether the model reasons when asked for an effort, "" for
// none given.
func (m *model) thinks(effort string) bool {
	if effort == "" {
		effort = m.effort
	}
	return m.reasons() && effort != "none"
}

// allEfforts are those of a model of which nothing else is known.
var allEfforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// models are those served.
var models = readModels()

func readModels() (list []model) {
	for _, line := range datafile.Embedded[[]modelLine]("wires/openai/models.yaml", modelFile, datafile.Options{}) {
		for _, id := range line.IDs {
			takes := specs.FindCapability("openai", id)
			m := model{id, line, takes.Efforts, "medium"}
			switch {
			case takes.Efforts == nil:
				m.efforts = allEfforts
			case takes.Reasoning == "off":
				m.effort = "none"
			case takes.Reasoning == "never":
				m.effort = ""
			}
			list = append(list, m)
		}
	}
	return list
}

func findModel(id string) *model {
	if i := slices.IndexFunc(models, func(m model) bool { return m.id == id }); i >= 0 {
		return &models[i]
	}
	return nil
}

// Models returns the body of GET /v1/models.
func Models() []byte {
	data := script.Array{}
	for i := range models {
		data = append(data, models[i].modelDocument())
	}
	return script.JSON(script.Object{"object", "list", "data", data})
}

// Model returns the body of GET /v1/models/{id}; ok is false when the model is
// not served.
func Model(id string) (body []byte, ok bool) {
	m := findModel(id)
	if m == nil {
		return nil, false
	}
	return script.JSON(m.modelDocument()), true
}

func (m *model) modelDocument() script.Object {
	return script.Object{"id", m.id, "object", "model", "created", m.Created, "owned_by", "system"}
}
