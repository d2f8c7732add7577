package recorder

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/cassettes"
)

// TestNominalTimes holds that no tool passes given times off as measured ones.
func TestNominalTimes(t *testing.T) {
	d := newDir(t)
	text, err := cassettes.FS.ReadFile("anthropic/streaming/error-mid-stream.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.path, "n.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	d.write("m.yaml", conversation("1", "A heron.")...)

	_, said, _ := d.recorder("inspect", "n.yaml")
	if want := "n.yaml: simulator, 2 interactions, nominal times, recorded 2026-11-21T09:00:00Z, by make cassettes, "; !strings.HasPrefix(said, want) {
		t.Errorf("inspect says %q, want %q", said, want)
	}
	if _, said, _ := d.recorder("inspect", "n.yaml#0"); !strings.Contains(said, "ms in all (nominal times)\n") {
		t.Errorf("inspect of one says %q", said)
	}
	for file, want := range map[string]string{"n.yaml": "nominal-times", "m.yaml": ""} {
		_, stdout, _ := d.recorder("inspect", file, "--json")
		var got struct{ Declared []string }
		if err := json.Unmarshal([]byte(stdout), &got); err != nil || got.Declared == nil ||
			strings.Join(got.Declared, " ") != want {
			t.Errorf("%s: inspect --json declares %q, %v", file, got.Declared, err)
		}
	}
	if exit, _, stderr := d.recorder("verify", "n.yaml"); exit != 0 {
		t.Errorf("verify: %d, %s", exit, stderr)
	}
	if exit, stdout, _ := d.recorder("verify", "--max-age", "9000d", "n.yaml"); exit != ExitGate ||
		!strings.Contains(stdout, "n.yaml: has nominal times, so --max-age cannot pass it") {
		t.Errorf("verify --max-age: %d, %s", exit, stdout)
	}

	for file, nominal := range map[string]bool{"n.yaml": true, "m.yaml": false} {
		_, _, stderr := d.recorder("run", "--mode", "replay", "--allow-unused", "--speed", "5", "--receipt", "r.json",
			"--cassette", file, "--", "true")
		receipt, err := os.ReadFile(filepath.Join(d.path, "r.json"))
		said, noted := strings.Contains(stderr, file+": its times are nominal"),
			strings.Contains(string(receipt), `"nominal_times": true`)
		if err != nil || said != nominal || noted != nominal {
			t.Errorf("%s: %v, said %t, in the receipt %t; want %t\n%s", file, err, said, noted, nominal, stderr)
		}
	}
}
