package meerkat_test

import (
	"testing"

	"github.com/meerkat-go/conformance/meerkat"
	"github.com/meerkat-go/conformance/meerkat/mcp"
)

// TestToolProblems: an optional server that does not start is not an error, but it
// can be asked for.
func TestToolProblems(t *testing.T) {
	gone := mcp.Server{Name: "gone", Command: "/no/such/program", Optional: true}
	a, err := meerkat.NewAgent().WithClient(echo{}).WithMCP(mcp.Options{}, gone).Build()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if p := a.ToolProblems(); len(p) != 1 || p[0].Server != "gone" || p[0].Tool != "" {
		t.Errorf("%+v", p)
	}
	plain, err := meerkat.NewAgent().WithClient(echo{}).Build()
	if err != nil || plain.ToolProblems() != nil {
		t.Errorf("%+v, %v", plain.ToolProblems(), err)
	}
}
