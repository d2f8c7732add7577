package server_test

import (
	"context"
	"errors"
	"testing"

	"github.com/meerkat-go/conformance/meerkat/server"
)

// TestRuns holds the bound, that a run is interrupted by its session, and that a second
// run of a session does not hide the first.
func TestRuns(t *testing.T) {
	runs := &server.Runs{Max: 2}
	first, one, err := runs.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if runs.Running("a") || runs.Interrupt("a") {
		t.Error("a session runs that nobody named")
	}
	one.SetSession("a")
	second, two, err := runs.Begin(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := runs.Begin(t.Context(), "b"); err == nil {
		t.Error("a third run begins where two are allowed")
	}
	two.End()
	two.End()
	if !runs.Running("a") || !runs.Interrupt("a") || !errors.Is(context.Cause(first), server.ErrInterrupted) {
		t.Error("the first run cannot be interrupted after the second has ended")
	}
	if second.Err() == nil {
		t.Error("the context of a run outlives it")
	}
	one.End()
	one.SetSession("a")
	if runs.Running("a") {
		t.Error("a run that has ended is under way")
	}
	for range 2 {
		if _, _, err := runs.Begin(t.Context(), ""); err != nil {
			t.Errorf("a run that ended still counts: %v", err)
		}
	}
}
