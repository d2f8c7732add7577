package meerkat

import (
	"reflect"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/agent"
	"github.com/meerkat-go/conformance/meerkat/mcp"
	"github.com/meerkat-go/conformance/meerkat/tool"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// TestApplyChange applies what a server says of its tools, under the policy of the
// run; what others offer stays.
func TestApplyChange(t *testing.T) {
	def := func(name, description string) transcript.ToolDef {
		return transcript.ToolDef{Name: name, Description: description}
	}
	before := []transcript.ToolDef{def("own", "1"), def("s__a", "1"), def("s__b", "1")}
	got := applyChange(before, mcp.Change{
		Added:   []transcript.ToolDef{def("s__c", "1"), def("s__denied", "1"), def("t__other", "1")},
		Removed: []string{"s__a", "s__never"}, Altered: []transcript.ToolDef{def("s__b", "2"), def("s__hidden", "2")},
	}, tool.Policy{Allow: []string{"s__*", "own"}, Deny: []string{"*denied"}})
	want := "own 1, s__b 2, s__c 1, "
	text := ""
	for _, d := range got {
		text += d.Name + " " + d.Description + ", "
	}
	if text != want || len(before) != 3 || before[1].Name != "s__a" {
		t.Errorf("have %s\nwant %s\nfrom %v", text, want, before)
	}
}

// TestOptionsSetTheirFields: options that are not visible in a request arrive.
func TestOptionsSetTheirFields(t *testing.T) {
	b := NewAgent().WithMemoryStore().WithWarnAt(0.5).WithOnInterrupted(agent.Fail).WithCompaction(agent.Compaction{Threshold: 0.7}).WithMaxOutputTokens(3)
	if b.config.Store == nil {
		t.Error("no store")
	}
	got := []any{b.config.WarnAt, b.config.OnInterrupted, b.config.Compaction.Threshold, b.config.MaxOutputTokens}
	if want := []any{0.5, agent.Fail, 0.7, 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
