package cassette

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recordedThree writes a cassette of three interactions and returns its path.
func recordedThree(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "three.yaml")
	w, err := Create(path, Meta{Provenance: ProvenanceLive, Tool: "test"}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"heron", "egret", "stork"} {
		in := Interaction{
			Request: Request{Method: "POST", URL: "https://h/" + text,
				Header: map[string][]string{"Content-Length": {"5"}}, Body: []byte(text)},
			Response: Response{Status: 200, Header: map[string][]string{}, Body: []byte(text + " flies")},
			Timeline: []Chunk{{time.Millisecond, 5}, {2 * time.Millisecond, 6}}, End: EndEOF,
		}
		if err := w.Append(in); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReseal(t *testing.T) {
	cut := func(text, from, to string) string {
		i := strings.Index(text, from)
		j := i + strings.Index(text[i:], to) + len(to)
		return text[:i] + text[j:]
	}
	item := func(text string, n int) string { // with its seal
		return itemStart + strings.Split(text, itemStart)[n+1]
	}
	for name, tt := range map[string]struct {
		edit    func(text string) string
		want    []string
		edited  []int // interactions that no provider answered
		replies []string
	}{
		"nothing": {func(s string) string { return s }, nil, nil,
			[]string{"heron flies", "egret flies", "stork flies"}},
		"a longer reply": {
			func(s string) string { return strings.Replace(s, "egret flies", "egret flies far", 1) },
			[]string{"interaction 1 was changed (452 bytes before, 456 now)"}, []int{1},
			[]string{"heron flies", "egret flies far", "stork flies"},
		},
		"a shorter reply": {
			func(s string) string { return strings.Replace(s, "stork flies", "st", 1) },
			[]string{"interaction 2 was changed (452 bytes before, 443 now)"}, []int{2},
			[]string{"heron flies", "egret flies", "st"},
		},
		"the head": {
			func(s string) string { return strings.Replace(s, `tool: "test"`, `tool: "other"`, 1) },
			[]string{"the head or interaction 0 was changed"}, []int{0, 1, 2},
			[]string{"heron flies", "egret flies", "stork flies"},
		},
		"one taken out with its seal": {
			func(s string) string { return strings.Replace(s, item(s, 1), "", 1) },
			[]string{"interaction 1 of the old file has no seal any more", "interaction 1 was interaction 2; whether"},
			[]int{1}, []string{"heron flies", "stork flies"},
		},
		"one put in": {
			func(s string) string {
				added := cut(item(s, 0), sealPrefix, "\n")
				return strings.Replace(s, itemStart, strings.Replace(added, "heron flies", "a new one", 1)+itemStart, 1)
			},
			[]string{"interaction 0 is new"}, []int{0},
			[]string{"a new one", "heron flies", "egret flies", "stork flies"},
		},
		"another form of YAML": {
			func(s string) string {
				return strings.Replace(s, "body: |-\n            egret flies\n", "body: 'egret flies'\n", 1)
			},
			[]string{"interaction 1 was changed"}, []int{1}, []string{"heron flies", "egret flies", "stork flies"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := recordedThree(t)
			data, _ := os.ReadFile(path)
			text := tt.edit(string(data))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Reseal(path, func(int, Interaction) error { return nil })
			if err != nil || got.Interactions != len(tt.replies) || len(got.Changes) != len(tt.want) {
				t.Fatalf("%+v, %v", got, err)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(got.Changes[i], want) {
					t.Errorf("change %d: %s, want %s", i, got.Changes[i], want)
				}
			}
			c, err := Open(path)
			if err == nil {
				err = c.Verify()
			}
			if err != nil {
				t.Fatal(err)
			}
			var edited []int
			for i := range tt.replies {
				in, err := c.At(i)
				if err != nil || string(in.Response.Body) != tt.replies[i] || in.End != EndEOF {
					t.Errorf("interaction %d: %q, %v", i, in.Response.Body, err)
				}
				if in.Provenance == provenanceEdited {
					edited = append(edited, i)
				}
			}
			if len(edited) != len(tt.edited) {
				t.Errorf("marked as edited: %v, want %v", edited, tt.edited)
			}
		})
	}
}

// What cannot be sealed again stays as it is.
func TestResealRefuses(t *testing.T) {
	check := errors.New("a key")
	for name, tt := range map[string]struct {
		edit func(string) string
		want string
		err  error
	}{
		"a key": {func(s string) string { return strings.Replace(s, "egret flies", "a key", 1) },
			"a key", check},
		"no closing line": {func(s string) string { return s[:strings.Index(s, closePrefix)] },
			"its closing line is missing", ErrTorn},
		"broken YAML": {func(s string) string { return strings.Replace(s, "        method:", "      method", 1) },
			"interaction 0 cannot be read", ErrFormat},
		"another tool's": {func(s string) string { return strings.Replace(s, "---\n", "", 1) }, "recorder import",
			ErrFormat},
	} {
		path := recordedThree(t)
		data, _ := os.ReadFile(path)
		text := []byte(tt.edit(string(data)))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Reseal(path, func(_ int, in Interaction) error {
			if bytes.Contains(in.Response.Body, []byte("a key")) {
				return check
			}
			return nil
		})
		after, _ := os.ReadFile(path)
		if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) || !bytes.Equal(after, text) {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := filepath.Glob(path + ".*"); left != nil {
			t.Errorf("%s: left behind %v", name, left)
		}
	}
}
