package recorder_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/internal/app/recorder"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// wholeCassette is the text of a good one.
func wholeCassette(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "good.yaml")
	w, err := cassette.Create(path, cassette.Meta{Provenance: cassette.ProvenanceSynthetic,
		Created: "2026-11-21T09:00:00Z"}, cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		in := cassette.Interaction{
			Request: cassette.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages",
				Body: fmt.Appendf(nil, `{"n":%d}`, i)},
			Response: cassette.Response{Status: 200, Body: []byte("{}")}, End: cassette.EndEOF,
		}
		if err := w.Append(in); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// bomb is YAML that aliases would let grow to 9^30 elements.
func bomb() string {
	var b strings.Builder
	b.WriteString("version: 1\nx00: &x00 lol\n")
	for i := 1; i <= 30; i++ {
		fmt.Fprintf(&b, "x%02d: &x%02d [%s]\n", i, i,
			strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%02d,", i-1), 9), ","))
	}
	return b.String() + "interactions: *x30\n"
}

// Nothing is a cassette that only looks like one. Each mistake and each piece of
// malice is one sentence that names the file, with exit code 2 (1 where a gate
// rejects it), soon, whatever command meets it.
func TestBadFiles(t *testing.T) {
	good := wholeCassette(t)
	edit := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	for _, tt := range []struct{ name, text, open, imports string }{
		{"empty", "", "is empty; record it again", "is empty; restore it"},
		{"binary", "\x7fELF\x02\x01\x01\x00\x00\xff\xfe",
			"is not a cassette (it is not text); give a file that recorder or go-vcr v2 wrote",
			"is not text; not a recording of a known format"},
		{"JSON", `{"a":1}`, "is not a cassette (", `is JSON without "log"`},
		{"gzip", "\x1f\x8b\x08\x00", "is not a cassette (it is compressed with gzip); decompress it with gunzip",
			"is damaged where it is compressed"},
		{"prose", "Dear reader, this is prose.\n", "is not a cassette (", "is YAML without interactions"},
		{"malformed", "version: 1\ninteractions:\n  - {a", "is not a cassette (", "is unreadable YAML ("},
		{"bomb", bomb(), "is not a cassette (", "is not a cassette ("},
		{"deep", "interactions: " + strings.Repeat("[", 200_000), "is not a cassette (", "is unreadable YAML ("},
		{"duplicate keys", "version: 1\nversion: 1\ninteractions: []\n", "already defined", "already defined"},
		{"unknown version", "version: 99\ninteractions: []\n", "go-vcr format 99", `version "99" is unknown`},
		{"newer format", edit(`format: "1"`, `format: "9"`), "format 9: this build reads up to 1; use a newer build",
			"format 9: this build reads up to 1"},
		{"no format", edit(`format: "1"`, `format: "x"`), "names no format", "names no format"},
		{"duplicate meta", edit("    tool:", "    tool: \"x\"\n    tool:"), "the head is damaged",
			"the head is damaged"},
		{"truncated", good[:len(good)-70], "its closing line is missing", "its closing line is missing"},
		{"half", good[:len(good)/2], "its closing line is missing", "its closing line is missing"},
		{"text behind it", good + "# a note\n", "has text after its closing line; remove that text",
			"has text after its closing line"},
		{"head only", good[:60], "its closing line is missing", "its closing line is missing"},
		{"CRLF", strings.ReplaceAll(good, "\n", "\r\n"),
			`its line ends were changed to CRLF, as git does for text; add "*.yaml -text" to .gitattributes`,
			"its line ends were changed to CRLF"},
		{"byte order mark", "\ufeff" + good, "a byte order mark was put before it",
			"a byte order mark was put before it"},
		{"UTF-16", "\xff\xfe-\x00-\x00-\x00\n\x00", "its text was changed to UTF-16", "is not text"},
		{"HAR", `{"log":{"version":"1.2","entries":[]}}`, "convert it with: recorder import", "holds no exchange"},
		{"huge line", strings.Repeat("a", 16<<20), "is not a cassette (", "is YAML without interactions"},
		{"two documents", "version: 1\ninteractions: []\n---\nversion: 1\n", "holds no interactions",
			"holds no interactions"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.yaml")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, path, tt.open, tt.imports)
		})
	}
}

// refused runs every command that reads a cassette on path.
func refused(t *testing.T, path, open, imports string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	replay := 2
	if strings.Contains(open, "record it again") || strings.Contains(open, "holds no interactions") {
		replay = 1 // an empty cassette is one, and a gate rejects it
	}
	for _, c := range []struct {
		want string
		exit int
		args []string
	}{
		{open, replay, []string{"replay", "--cassette", path}},
		{open, 2, []string{"inspect", path}},
		{open, 2, []string{"export", path, "--to", "har", "-o", out}},
		{open, 1, []string{"verify", path}},
		{imports, 2, []string{"import", path, "--cassette", out}},
	} {
		var stdout, stderr bytes.Buffer
		start := time.Now()
		exit := recorder.Run(t.Context(), c.args, strings.NewReader(""), &stdout, &stderr,
			[]string{"XDG_CONFIG_HOME=" + t.TempDir(), "HOME=" + t.TempDir()})
		said := stdout.String() + stderr.String()
		sentence, rest, _ := strings.Cut(said, "\n")
		if c.args[0] == "verify" {
			rest = strings.TrimPrefix(rest, "1 cassette, 1 failed; ")
			_, rest, _ = strings.Cut(rest, "\n")
		}
		if exit != c.exit || !strings.Contains(sentence, path+": ") || !strings.Contains(sentence, c.want) ||
			rest != "" || (stdout.Len() > 0) != (c.args[0] == "verify") {
			t.Errorf("%s: exit %d, want %d with %q\n%.400s", c.args[0], exit, c.exit, c.want, said)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s took %v", c.args[0], took)
		}
	}
	if _, err := os.Lstat(out); err == nil {
		t.Error("something was written")
	}
}

// A link to a good cassette is a good cassette.
func TestLinkedCassette(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "real"), []byte(wholeCassette(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "x.yaml")); err != nil {
		t.Skip("this system has no links:", err)
	}
	var stdout, stderr bytes.Buffer
	if exit := recorder.Run(t.Context(), []string{"verify", dir}, strings.NewReader(""), &stdout, &stderr, nil); exit != 0 || !strings.Contains(stdout.String(), "x.yaml: 3 interactions") {
		t.Errorf("exit %d: %s", exit, stderr.String())
	}
}

// What a crash left of a recording that had hardly begun.
func TestEmptyPartial(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.yaml")
	if err := os.WriteFile(path+".partial", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		exit int
		want string
		args []string
	}{
		{2, path + ": was never finished; run: recorder recover " + path, []string{"replay", "--cassette", path}},
		{1, path + ": was never finished", []string{"verify", dir}},
		{2, path + ".partial: holds no whole interaction; delete it and record again", []string{"recover", path}},
	} {
		var stdout, stderr bytes.Buffer
		exit := recorder.Run(t.Context(), c.args, strings.NewReader(""), &stdout, &stderr,
			[]string{"XDG_CONFIG_HOME=" + t.TempDir(), "HOME=" + dir})
		if exit != c.exit || !strings.Contains(stdout.String()+stderr.String(), c.want) {
			t.Errorf("%s: exit %d, want %d with %q\n%s%s", c.args[0], exit, c.exit, c.want, &stdout, &stderr)
		}
	}
}
