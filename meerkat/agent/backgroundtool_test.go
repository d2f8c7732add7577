package agent

import (
	"math"
	"reflect"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/ops"
	"github.com/meerkat-go/conformance/meerkat/session"
	"github.com/meerkat-go/conformance/meerkat/tool"
)

// TestPercent: whatever a server says of its progress, JSON can hold it.
func TestPercent(t *testing.T) {
	for said, want := range map[tool.Progress]float64{
		{Done: 1, Total: 4}: 25, {Done: 5, Total: 4}: 100, {Done: -1, Total: 4}: 0,
		{Done: math.MaxFloat64, Total: 0.5}: 100,
	} {
		if got := percentOf(said); got == nil || *got != want {
			t.Errorf("%+v: %v, want %v", said, got, want)
		}
	}
	if got := percentOf(tool.Progress{Done: 1}); got != nil {
		t.Errorf("%v of an unknown total", *got)
	}
}

// TestRestoredTool: a resumed session tells the model how a tool in the background ended,
// where that is stored. It never calls it again.
func TestRestoredTool(t *testing.T) {
	for name, c := range map[string]struct {
		end  *session.OperationEnd
		want ops.OpResult
	}{
		"no end": {
			nil,
			ops.OpResult{Error: tool.Interrupted("").Content, OpCausality: ops.OpCausality{Status: ops.Interrupted}},
		},
		"lost result": {
			&session.OperationEnd{Status: "completed"},
			ops.OpResult{Error: tool.Interrupted("").Content, OpCausality: ops.OpCausality{Status: ops.Interrupted}},
		},
		"failed": {
			&session.OperationEnd{Status: "failed", Error: "no disk"},
			ops.OpResult{Error: "no disk", OpCausality: ops.OpCausality{Status: ops.Failed}},
		},
		"cancelled": {
			&session.OperationEnd{Status: "cancelled"},
			ops.OpResult{OpCausality: ops.OpCausality{Status: ops.Cancelled}},
		},
		"artifact": {
			&session.OperationEnd{Status: "completed", Artifact: "a", Size: 9},
			ops.OpResult{Artifact: "a", Size: 9, OpCausality: ops.OpCausality{Status: ops.Completed}},
		},
	} {
		info := session.OperationInfo{
			Operation: session.Operation{Spec: []byte(`{"kind":"tool_call","tool":"look"}`), End: c.end},
		}
		if got := restoredOperation(info).Result; got == nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
