package rule

import (
	"fmt"

	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// SchemaFault is what is wrong with the schema of a tool, or of the answer.
type SchemaFault struct {
	// Path leads to the fault from the schema, Text says in our words what is wrong; without a Text
	// only the provider minds.
	Path, Text string
	// Rule is the id of the rule where it is another than that of the rule that runs.
	Rule    string
	Refusal *Refusal
}

// JudgeSchemas reports the first fault that find sees in the schema of each tool of the client. Of tools
// that stand behind the start of a conversation no refusal is known.
func (p *Pass) JudgeSchemas(tools []wire.Tool, find func(t *wire.Tool) SchemaFault) {
	for i := range tools {
		t := &tools[i]
		if !t.IsClients || !t.Schema.Is(tree.Object) {
			continue
		}
		p.Observe()
		f := find(t)
		if t.IsAdded {
			f.Refusal = nil
		}
		if f.Text == "" {
			p.Refuse(f.Refusal)
			continue
		}
		b := p.Report(t.SchemaPath+f.Path, "the schema of tool %.140q: %s", t.Name, f.Text).Refuse(f.Refusal)
		if f.Rule != "" {
			b.Rule = f.Rule
		}
	}
}

// JudgeUnique reports the tools that have the name of one before them, each with what refuse answers.
func (p *Pass) JudgeUnique(tools []wire.Tool, refuse func(t *wire.Tool) *Refusal) {
	first := map[string]string{}
	for i := range tools {
		t := &tools[i]
		if t.Name == "" {
			continue
		}
		if p.Observe(); first[t.Name] != "" {
			p.Report(t.Path, "the tool name %.140q is already used at %s", t.Name, first[t.Name]).Refuse(refuse(t))
			continue
		}
		first[t.Name] = t.Path
	}
}

// RootType says what type the root of a schema has.
func RootType(schema *tree.Node) string {
	t := schema.Get("type")
	if t == nil {
		return `it has no type; at the root it must be "object"`
	}
	return fmt.Sprintf("it has the type %.60s; at the root it must be \"object\"", t.Raw())
}

// BehindPath says what is wrong behind the path of the fault, if there is one.
func BehindPath(f tree.SchemaFault) string {
	if f.Node == nil || f.Path == "" {
		return f.Text
	}
	return f.Path[1:] + " " + f.Text
}
