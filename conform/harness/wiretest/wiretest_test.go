package wiretest

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/app/rkat"
)

func TestMain(m *testing.M) {
	if code, isSubject := harness.RunIfSubject(context.Background(), rkat.Run, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()); isSubject {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// TestBreak breaks every requirement once through the wire.
func TestBreak(t *testing.T) {
	found, err := Break(t.Context(), harness.Config{Subject: harness.InProcess(rkat.Run, "test")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range Faults(found) {
		t.Error(fault)
	}
	if noticed := slices.DeleteFunc(slices.Clone(found), func(b Breach) bool { return !b.IsNoticed() }); len(noticed) < 60 {
		t.Errorf("only %d of %d requirements were broken", len(noticed), len(found))
	}
}
