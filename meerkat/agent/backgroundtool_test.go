package agent

import (
	"math"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/tool"
)

// TestPercent: whatever a server says of its progress, JSON can hold it.
func TestPercent(t *testing.T) {
	for said, want := range map[tool.Progress]float64{
		{Done: 1, Total: 4}: 25, {Done: 5, Total: 4}: 100, {Done: -1, Total: 4}: 0, {Done: math.MaxFloat64, Total: 0.5}: 100,
	} {
		if got := percentOf(said); got == nil || *got != want {
			t.Errorf("%+v: %v, want %v", said, got, want)
		}
	}
	if got := percentOf(tool.Progress{Done: 1}); got != nil {
		t.Errorf("%v of an unknown total", *got)
	}
}
