package conform

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/internal/app/cli"
)

// TestServeReadsARecordingAsItGrows holds that whole exchanges are shown before the
// recording has its end.
func TestServeReadsARecordingAsItGrows(t *testing.T) {
	whole, err := cassettes.FS.ReadFile("anthropic/signature/thinking-tool-loop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.yaml.partial")
	grow := func(n int) {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	second := bytes.LastIndex(whole, []byte("    - request:"))
	grow(second)
	a := &app{cli.New(program, nil, &bytes.Buffer{}, &bytes.Buffer{}, nil)}
	f, err := a.newFollower(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range []int{second, len(whole) - 1} {
		grow(n)
		if err := f.readChanges(); err != nil {
			t.Fatal(err)
		}
		if got := len(f.feed.Page().Cases[0].Exchanges); got != i+1 {
			t.Errorf("%d bytes of the recording show %d exchanges, not %d", n, got, i+1)
		}
	}
}
