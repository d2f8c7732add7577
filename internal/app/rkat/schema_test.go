package rkat

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/schemas"
	"github.com/meerkat-go/conformance/simulator"
	"github.com/meerkat-go/conformance/specs"
)

// TestEveryLineFits plays every scenario and holds each line of json-stream
// against its schema: what is there is described, and what is described is
// there.
func TestEveryLineFits(t *testing.T) {
	all, err := specs.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range all {
		for _, target := range s.Targets {
			u := newUpstream(t, simulator.New(simulator.Config{Scenario: s, Seed: "lines"}))
			dir := t.TempDir()
			for _, step := range s.Steps {
				args := append(command(s, target, step, false), "--output", "json-stream")
				got := rkat(t.Context(), u.env(dir), args...)
				for line := range strings.Lines(got.stdout) {
					seen[fits(t, schemas.RkatEvent, line)] = true
				}
				if strings.Count(got.stdout, "schema_version") != 1 ||
					!strings.HasPrefix(got.stdout, `{"schema_version":1,`) &&
						!strings.HasPrefix(got.stdout, `{"type":"result","schema_version":1,`) {
					t.Errorf("%s: the version is not on the first line", s.Name)
				}
			}
		}
	}
	for _, kind := range []string{
		"run_started", "tool_call_delta", "tool_execution_completed", "stream_reset", "run_failed", "result",
	} {
		if !seen[kind] {
			t.Errorf("no scenario shows %s; this test proves less than it says", kind)
		}
	}
}

// fits validates a line and returns its type.
func fits(t *testing.T, name schemas.Name, line string) string {
	t.Helper()
	if err := schemas.Validate(name, []byte(line)); err != nil {
		t.Errorf("%v\n%s", err, line)
	}
	if extra, err := unnamed(name, line); err != nil || extra != nil {
		t.Errorf("%v %v are not in %s", err, extra, name)
	}
	var tagged struct{ Type string }
	if err := json.Unmarshal([]byte(line), &tagged); err != nil {
		t.Error(err)
	}
	return tagged.Type
}

// TestSchemaKnowsEveryEvent reads the types of events from their source: each
// has a branch of its own in the schema.
func TestSchemaKnowsEveryEvent(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../meerkat/agent/event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := schemas.Source(schemas.RkatEvent)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "EventType" {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		if !strings.Contains(string(text), `"const": "`+value+`"`) {
			t.Errorf("%s: not in schemas/rkat.event.v1.json", value)
		}
		return true
	})
	if n < 20 {
		t.Errorf("only %d types were found in the source", n)
	}
}
