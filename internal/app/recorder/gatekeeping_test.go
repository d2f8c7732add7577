package recorder_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/app/recorder"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// run is one command, in this process.
func run(t *testing.T, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	exit = recorder.Run(t.Context(), args, strings.NewReader(""), &out, &err,
		[]string{"XDG_CONFIG_HOME=" + t.TempDir(), "HOME=" + t.TempDir()})
	return exit, out.String(), err.String()
}

// A key that is in a sealed cassette all the same, by whatever mistake, is seen
// by verify and does not get out by export.
func TestSealedKeyIsNoticed(t *testing.T) {
	const key = "sk-ant-api03-anotherkey0anotherkey0another"
	dir := t.TempDir()
	path, out := filepath.Join(dir, "x.yaml"), filepath.Join(dir, "x.har")
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceLive}, cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(cassette.Interaction{Response: cassette.Response{Status: 200,
		Body: []byte(`{"key":"` + key + `"}`)}, End: cassette.EndEOF}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"har", "go-vcr-v2"} {
		exit, stdout, stderr := run(t, "export", path, "--to", to)
		if exit != 1 || stdout != "" || !strings.Contains(stderr, "interaction 0: the response body holds") ||
			!strings.Contains(stderr, "nothing is written") {
			t.Errorf("export --to %s: exit %d, %q, %s", to, exit, stdout, stderr)
		}
		if exit, _, _ = run(t, "export", path, "--to", to, "-o", out); exit != 1 {
			t.Errorf("export -o: exit %d", exit)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	exit, stdout, stderr := run(t, "verify", "--json", path)
	if exit != 1 || !strings.Contains(stdout, `"kind": "secret"`) || strings.Contains(stdout+stderr, key) {
		t.Errorf("verify: exit %d, %s%s", exit, stdout, stderr)
	}
}

// seal makes a file of a head and one item, as docs/cassette-format.md says.
func seal(head, item string) string {
	hash := func(parts ...[]byte) []byte {
		sum := sha256.Sum256(bytes.Join(parts, nil))
		return sum[:]
	}
	last := hash(hash([]byte(head)), []byte(item))
	closing := "# closed 1 "
	return fmt.Sprintf("%s%s      # sealed 0 %d %x\n%s%x\n", head, item, len(item), last, closing,
		hash(last, []byte(closing)))
}

// Good seals over what the format does not have: the file is read, and verify
// says what is odd about it, all of it.
func TestVerifyHoldsTheLayout(t *testing.T) {
	good := wholeCassette(t)
	head, rest, _ := strings.Cut(good, "    - request:\n")
	item, _, _ := strings.Cut("    - request:\n"+rest, "      # sealed")
	path := filepath.Join(t.TempDir(), "x.yaml")
	verdict := func(text string) (problems []string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, stdout, _ := run(t, "verify", "--json", path)
		var out struct {
			Cassettes []struct {
				Problems []struct{ Kind, Problem string }
			}
		}
		if err := json.Unmarshal([]byte(stdout), &out); err != nil {
			t.Fatal(err, stdout)
		}
		for _, p := range out.Cassettes[0].Problems {
			problems = append(problems, p.Kind+" "+p.Problem)
		}
		return problems
	}
	if p := verdict(seal(head, item)); len(p) > 0 {
		t.Fatalf("a good file: %q", p)
	}
	p := verdict(seal(strings.Replace(head, "version: 1", "colour: red\nversion: 1", 1),
		strings.Replace(item, "form: {}", "form: {a: [b]}", 1)))
	if len(p) != 2 || !strings.HasPrefix(p[0], "layout "+path+": its head holds what format 1 does not have") ||
		!strings.HasPrefix(p[1], "layout "+path+": interaction 0 holds what format 1 does not have") {
		t.Errorf("%q", p)
	}
}
