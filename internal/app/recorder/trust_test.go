package recorder

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/ca"
)

// The files clients trust are shared by all runs of an authority, are there
// after a run, and go when their authority has expired.
func TestTrustFiles(t *testing.T) {
	now := time.Now()
	config := t.TempDir()
	a := &app{Frame: cli.New(cli.Program{}, nil, nil, nil, []string{"XDG_CONFIG_HOME=" + config})}
	authority, err := ca.New([]string{"api.anthropic.com"}, now)
	if err != nil {
		t.Fatal(err)
	}
	first, err := a.TrustFiles(authority, now)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := a.TrustFiles(authority, now); err != nil || again != first {
		t.Errorf("a second run has %s, %v; want %s", again, err, first)
	}
	if data, err := os.ReadFile(filepath.Join(first, caFile)); err != nil || !bytes.Equal(data, authority.PEM()) {
		t.Errorf("%s: %v", caFile, err)
	}
	if data, err := os.ReadFile(filepath.Join(first, bundleFile)); err != nil ||
		!bytes.Contains(data, authority.PEM()) {
		t.Errorf("%s: %v", bundleFile, err)
	}
	other, err := ca.New([]string{"api.openai.com"}, now)
	if err != nil {
		t.Fatal(err)
	}
	second, err := a.TrustFiles(other, now.Add(trustAge+time.Hour))
	if err != nil || second == first {
		t.Fatalf("another authority has %s, %v", second, err)
	}
	if _, err := os.Lstat(first); err == nil {
		t.Error("an expired authority is still trusted")
	}
}
