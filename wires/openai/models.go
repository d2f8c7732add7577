package openai

import (
	"slices"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
)

// model is one model that is served and what it takes (reference §6.2).
type model struct {
	id string
	// family is what reads the encrypted content of what (rule O-15).
	family string
	// created is when it came out, in Unix seconds.
	created int64
	// efforts are those of reasoning.effort in specs/capabilities.yaml; none at all means that
	// the model does not reason.
	efforts []string
	// effort is the one it has when none is set.
	effort string
	// context is how many tokens of input it takes.
	context int
	// can are the settings that only some models have.
	can ability
}

// ability is a set of settings that only some models take.
type ability uint8

const (
	// canContext: reasoning.context. canMode: reasoning.mode. canPhase: messages
	// carry a phase. binds: reasoning is dropped behind a changed prefix (rule
	// OAI-B1).
	canContext ability = 1 << iota
	canMode
	canPhase
	binds
)

func (m *model) reasons() bool { return len(m.efforts) > 0 }

func (m *model) hasTrait(a ability) bool { return m.can&a != 0 }

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

// models are those served, with their dated snapshots: what the API offers, not
// what an agent should choose. An agent that lets a model through which it must
// not use is to be noticed, so the older ones are here too.
var models = slices.Concat(
	namedModel("gpt-3.5", 1_677_610_602, 16_385, 0, "gpt-3.5-turbo"),
	namedModel("gpt-4", 1_687_882_411, 8_192, 0, "gpt-4", "gpt-4-0613"),
	namedModel("gpt-4", 1_712_361_441, 128_000, 0, "gpt-4-turbo", "gpt-4-turbo-2024-04-09"),
	namedModel("gpt-4o", 1_715_367_049, 128_000, 0, "gpt-4o", "gpt-4o-2024-05-13", "gpt-4o-2024-08-06", "gpt-4o-2024-11-20",
		"gpt-4o-mini", "gpt-4o-mini-2024-07-18", "chatgpt-4o-latest"),
	namedModel("gpt-4.1", 1_744_316_542, 1_047_576, 0, "gpt-4.1", "gpt-4.1-2025-04-14", "gpt-4.1-mini", "gpt-4.1-mini-2025-04-14",
		"gpt-4.1-nano", "gpt-4.1-nano-2025-04-14"),
	namedModel("o1", 1_734_375_816, 200_000, 0, "o1", "o1-2024-12-17"),
	namedModel("o3", 1_744_225_308, 200_000, 0, "o3", "o3-2025-04-16", "o3-pro", "o3-mini", "o3-mini-2025-01-31"),
	namedModel("o4", 1_744_225_351, 200_000, 0, "o4-mini", "o4-mini-2025-04-16", "codex-mini-latest"),
	namedModel("gpt-5", 1_754_425_777, 272_000, 0, "gpt-5", "gpt-5-2025-08-07", "gpt-5-mini", "gpt-5-mini-2025-08-07",
		"gpt-5-nano", "gpt-5-nano-2025-08-07"),
	namedModel("gpt-5", 1_757_527_818, 272_000, 0, "gpt-5-codex"),
	namedModel("gpt-5.1", 1_762_800_673, 272_000, 0, "gpt-5.1", "gpt-5.1-2025-11-13", "gpt-5.1-codex"),
	namedModel("gpt-5.2", 1_765_313_051, 272_000, 0, "gpt-5.2", "gpt-5.2-2025-12-11", "gpt-5.2-codex"),
	namedModel("gpt-5.2", 1_765_343_983, 272_000, 0, "gpt-5.2-pro", "gpt-5.2-pro-2025-12-11"),
	namedModel("gpt-5.2", 1_765_344_352, 128_000, 0, "gpt-5.2-chat-latest"),
	namedModel("gpt-5.3", 1_770_000_000, 272_000, canPhase, "gpt-5.3-codex"),
	namedModel("gpt-5.3", 1_770_000_000, 128_000, canPhase, "gpt-5.3-chat-latest"),
	namedModel("gpt-5.4", 1_772_668_800, 1_050_000, canPhase|canContext, "gpt-5.4", "gpt-5.4-2026-03-05",
		"gpt-5.4-mini", "gpt-5.4-mini-2026-03-17", "gpt-5.4-nano", "gpt-5.4-nano-2026-03-17"),
	namedModel("gpt-5.4", 1_772_668_800, 1_050_000, canPhase|canContext, "gpt-5.4-pro", "gpt-5.4-pro-2026-03-05"),
	namedModel("gpt-5.5", 1_776_902_400, 1_050_000, canPhase|canContext, "gpt-5.5", "gpt-5.5-2026-04-23"),
	namedModel("gpt-5.5", 1_776_902_400, 1_050_000, canPhase|canContext, "gpt-5.5-pro", "gpt-5.5-pro-2026-04-23"),
	namedModel("gpt-5.6", 1_783_000_000, 1_050_000, canPhase|canContext|canMode,
		"gpt-5.6", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna", "gpt-5.6-cyber"),
	namedModel("gpt-6", 1_790_000_000, 1_050_000, canPhase|canContext|canMode|binds,
		"gpt-6-astra", "gpt-6-sol", "gpt-6-luna", "gpt-6-rosalind"),
	namedModel("gpt-6.1", 1_794_000_000, 1_050_000, canPhase|canContext|canMode|binds, "gpt-6.1-sol", "gpt-6.1-terra"),
)

func namedModel(family string, created int64, context int, can ability, ids ...string) []model {
	all := make([]model, len(ids))
	for i, id := range ids {
		takes := specs.FindCapability("openai", id)
		all[i] = model{id, family, created, takes.Efforts, "medium", context, can}
		switch {
		case takes.Efforts == nil:
			all[i].efforts = allEfforts
		case takes.Reasoning == "off":
			all[i].effort = "none"
		case takes.Reasoning == "never":
			all[i].effort = ""
		}
	}
	return all
}

var byID = func() map[string]*model {
	index := map[string]*model{}
	for i := range models {
		index[models[i].id] = &models[i]
	}
	return index
}()

func findModel(id string) *model { return byID[id] }

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
	return script.Object{"id", m.id, "object", "model", "created", m.created, "owned_by", "system"}
}
