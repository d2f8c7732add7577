package vcr_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGoVCRsOwnTests runs the tests of go-vcr v2, as they are in the module cache,
// with nothing changed but the import of the recorder.
func TestGoVCRsOwnTests(t *testing.T) {
	const theirs, ours = `"github.com/dnaeon/go-vcr/v2/recorder"`, `recorder "github.com/meerkat-go/conformance/vcr"`
	source, err := os.ReadFile(filepath.Join(run(t, "go", "list", "-f", "{{.Dir}}",
		"github.com/dnaeon/go-vcr/v2/recorder"), "recorder_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(source), theirs) != 1 {
		t.Fatalf("go-vcr's tests import %s %d times", theirs, strings.Count(string(source), theirs))
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "recorder_test.go"), filepath.Join(dir, "overlay.json")
	writeFile(t, changed, strings.Replace(string(source), theirs, ours, 1))
	here, err := filepath.Abs("govcrtest")
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here,
		"recorder_test.go"): changed}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, overlay, string(replace))
	// The folder of the package is in the overlay only, so go test could not run there.
	program := filepath.Join(dir, "govcrtest.exe")
	run(t, "go", "test", "-vet=off", "-c", "-o", program, "-overlay", overlay, "./govcrtest")
	out := run(t, program, "-test.v")
	want := len(regexp.MustCompile(`(?m)^func Test`).FindAll(source, -1))
	if passed := strings.Count(out, "--- PASS"); passed != want || want < 8 {
		t.Errorf("%d of go-vcr's %d tests passed:\n%s", passed, want, out)
	}
}

// run returns what a program prints, and fails the test when the program fails.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
