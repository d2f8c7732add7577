package cassette

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	document = "../../docs/cassette-format.md"
	reader   = "../../docs/cassette_reader.py"
)

// TestDocumentExample holds that the example of the format's specification is a
// cassette, seals and all, and that the hashes in the text are its own.
func TestDocumentExample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "example.yaml")
	text := documentExample(t)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.StrictHead(), c.Verify()); err != nil {
		t.Fatal(err)
	}
	doc := readText(t, document)
	for i := range c.Len() {
		if _, err := c.Strict(i); err != nil {
			t.Error(err)
		}
	}
	if strings.Count(doc, c.Digest()) != 2 {
		t.Errorf("the text does not tell the example's digest, %s, twice", c.Digest())
	}
	in, _ := c.At(0)
	if len(in.Timeline) != 2 || in.Timeline[0].Length != 22 || in.Timeline[1].At.Microseconds() != 25200 ||
		in.Response.Trailer.Get("X-Sum") != "a b" {
		t.Errorf("the example says another thing than the text: %+v", in)
	}
}

func documentExample(t *testing.T) string {
	t.Helper()
	_, rest, ok := strings.Cut(readText(t, document), "```yaml\n")
	example, _, ok2 := strings.Cut(rest, "```\n")
	if !ok || !ok2 {
		t.Fatalf("%s has no example", document)
	}
	return example
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pythonSays is what the reader prints of one file.
type pythonSays struct {
	Path         string
	Digest       string
	Lost         int
	Recovered    bool
	Interactions []struct {
		Request, Response struct {
			Body    string
			Headers map[string][]string
		}
		Duration int64 `json:"duration_ns"`
		Timeline [][2]int64
		End      string
	}
}

// runReader runs the reader that was written from the specification alone.
func runReader(t *testing.T, files ...string) (says []pythonSays) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 in the path; install it to hold the specification against a reader of its own")
	}
	cmd := exec.Command(python, append([]string{reader, "--json"}, files...)...)
	var why strings.Builder
	cmd.Stderr = &why
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, why.String())
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var one pythonSays
		if err := dec.Decode(&one); err != nil {
			t.Fatal(err)
		}
		says = append(says, one)
	}
	return says
}

// TestIndependentReader holds that the specification is enough: a reader in
// another language reads every committed cassette, and one of bodies that are
// hard to write, as we do, and finds the same seals.
func TestIndependentReader(t *testing.T) {
	files := []string{write(t, samples()...), lacking(t, 12), recovered(t)}
	err := filepath.WalkDir("../../cassettes", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".yaml" {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) < 20 {
		t.Fatalf("%d cassettes, %v", len(files), err)
	}
	for i, got := range runReader(t, files...) {
		c, err := Open(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if got.Lost != c.Loss().Lost || got.Recovered != c.Loss().Recovered {
			t.Errorf("%s: %d lost, recovered %t; want %d, %t", files[i], got.Lost, got.Recovered, c.Loss().Lost,
				c.Loss().Recovered)
		}
		if got.Digest != c.Digest() || len(got.Interactions) != c.Len() {
			t.Errorf("%s: %d interactions, %s; want %d, %s", files[i], len(got.Interactions), got.Digest, c.Len(),
				c.Digest())
			continue
		}
		for n, in := range readAll(t, c) {
			read := got.Interactions[n]
			if latin1(in.Request.Body) != read.Request.Body || latin1(in.Response.Body) != read.Response.Body ||
				in.Duration.Nanoseconds() != read.Duration ||
				string(in.End) != read.End || len(in.Timeline) != len(read.Timeline) ||
				len(in.Request.Header) != len(read.Request.Headers) {
				t.Errorf("%s: interaction %d is read as %+v", files[i], n, read)
			}
			for k, c := range in.Timeline {
				if read.Timeline[k] != [2]int64{c.At.Microseconds(), int64(c.Length)} {
					t.Errorf("%s: interaction %d: chunk %d is read as %v", files[i], n, k, read.Timeline[k])
				}
			}
		}
	}
}

// latin1 makes of each byte the character of its number.
func latin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

// TestIndependentReaderFindsDamage holds that the other reader looks.
func TestIndependentReaderFindsDamage(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 in the path; install it to hold the specification against a reader of its own")
	}
	good := documentExample(t)
	files := []string{reader}
	for name, bad := range map[string]string{
		"byte":    strings.Replace(good, "message_stop", "message_stoq", 1),
		"head":    strings.Replace(good, "live", "liva", 1),
		"end":     strings.Split(good, "# closed")[0],
		"item":    strings.Replace(good, "    - request:", "    - reqUest:", 1),
		"CRLF":    strings.ReplaceAll(good, "\n", "\r\n"),
		"lost":    strings.Replace(good, "# closed 2 ", "# closed 2 lost 1 ", 1),
		"version": strings.Replace(good, `format: "1"`, `format: "2"`, 1),
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	cmd := exec.Command(python, files...)
	var said strings.Builder
	cmd.Stderr = &said
	if out, err := cmd.Output(); err == nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	for _, file := range files[1:] {
		if !strings.Contains("\n"+said.String(), "\n"+file+": ") {
			t.Errorf("%s is taken: %s", filepath.Base(file), said.String())
		}
	}
}
