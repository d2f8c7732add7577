package cassette_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

var errUnwanted = errors.New("unwanted")

// revising records three bodies with a revision and returns the bodies that the
// cassette has then.
func revising(t *testing.T, path string, again func(cassette.Interaction) (cassette.Interaction, error),
	first int) ([]string, error) {
	t.Helper()
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic},
		cassette.CreateOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Revise(func() (func(cassette.Interaction) (cassette.Interaction, error), int) { return again, first })
	for _, body := range []string{"one", "two: secret", "three"} {
		in := cassette.Interaction{End: cassette.EndEOF,
			Request:  cassette.Request{Method: "GET", URL: "https://h/", Proto: "HTTP/1.1"},
			Response: cassette.Response{Status: 200, Proto: "HTTP/1.1", Body: []byte(body)}}
		if err := w.Append(in); err != nil {
			t.Fatal(err)
		}
	}
	closed := w.Close()
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.partial")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	recording, err := cassette.Open(path)
	if err != nil {
		return nil, closed
	}
	if err := recording.Verify(); err != nil {
		t.Error(err)
	}
	var bodies []string
	for in, err := range recording.All() {
		if err != nil {
			t.Error(err)
		}
		bodies = append(bodies, string(in.Response.Body))
	}
	return bodies, closed
}

func TestRevise(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	hide := func(in cassette.Interaction) (cassette.Interaction, error) {
		in.Response.Body = bytes.ReplaceAll(in.Response.Body, []byte("secret"), []byte("HIDDEN"))
		return in, nil
	}
	bodies, err := revising(t, path, hide, 3)
	if err != nil || len(bodies) != 3 || bodies[1] != "two: HIDDEN" || bodies[2] != "three" {
		t.Errorf("%q, %v", bodies, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	bodies, err = revising(t, path, nil, 3)
	if err != nil || len(bodies) != 3 || bodies[1] != "two: secret" {
		t.Errorf("not asked for: %q, %v", bodies, err)
	}
	for first, want := range []string{"two: secret", "two: secret", "two: HIDDEN"} {
		if bodies, err = revising(t, path, hide, first); err != nil || len(bodies) != 3 || bodies[1] != want ||
			bodies[2] != "three" {
			t.Errorf("the first %d: %q, %v", first, bodies, err)
		}
	}
}

func TestReviseLeavesOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	only := func(want string) func(cassette.Interaction) (cassette.Interaction, error) {
		return func(in cassette.Interaction) (cassette.Interaction, error) {
			if bytes.Contains(in.Response.Body, []byte(want)) {
				return in, nil
			}
			return in, errUnwanted
		}
	}
	bodies, err := revising(t, path, only("e"), 3)
	if err != nil || len(bodies) != 3 {
		t.Errorf("%q, %v", bodies, err)
	}
	bodies, err = revising(t, path, only("three"), 3)
	if !errors.Is(err, errUnwanted) || len(bodies) != 1 || bodies[0] != "three" ||
		err.Error() != path+": interaction 0 is left out: unwanted" {
		t.Errorf("%q, %v", bodies, err)
	}
	empty := filepath.Join(t.TempDir(), "y.yaml")
	if bodies, err = revising(t, empty, only("four"), 3); !errors.Is(err, errUnwanted) || bodies != nil {
		t.Errorf("%q, %v", bodies, err)
	}
}
