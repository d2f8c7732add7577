package cassette

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
)

// plainFile is a file as go-vcr writes it, with bodies of a size.
func plainFile(t *testing.T, items, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	err := WriteGoVCR(&b, Meta{Provenance: ProvenanceSynthetic}, func(yield func(Interaction, error) bool) {
		for i := range items {
			body := strings.Repeat(fmt.Sprintf("data: {\"n\":%d}\n- request:\n    - request:\n\n", i), size/40+1)
			in := Interaction{
				Request: Request{Method: http.MethodPost, URL: "https://api.anthropic.com/v1/messages",
					Header: http.Header{"X-A": {"b"}}, Body: []byte("{\"a\":1}\n- request:\n")},
				Response: Response{Status: 200, Header: http.Header{}, Body: []byte(body)},
			}
			if !yield(in, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A file that is decoded item by item says what it says when it is decoded as a whole.
func TestSplitForeignReadsTheSame(t *testing.T) {
	for name, data := range map[string][]byte{"one": plainFile(t, 1, 50), "many": plainFile(t, 7, 500)} {
		whole, err := parseForeign(name, data)
		if err != nil {
			t.Fatal(err)
		}
		c := &Cassette{name: name}
		if !c.splitForeign(data) || c.Len() != len(whole) {
			t.Fatalf("%s: %d items of %d", name, c.Len(), len(whole))
		}
		for i := range whole {
			in, err := c.At(i)
			asked, rerr := c.Request(i)
			if err != nil || rerr != nil || !reflect.DeepEqual(in, whole[i]) ||
				!reflect.DeepEqual(asked, whole[i].Request) {
				t.Errorf("%s: interaction %d: %v, %v\n%+v\n%+v", name, i, err, rerr, in, whole[i])
			}
		}
	}
}

// What has another layout, or is wrong, is left to the parser of the whole.
func TestSplitForeignRefusesOtherLayouts(t *testing.T) {
	data := string(plainFile(t, 2, 50))
	for name, text := range map[string]string{
		"version": strings.Replace(data, "version: 1", "version: 2", 1),
		"key":     strings.Replace(data, "method:", "verb:", 1),
		"after":   data + "extra: 1\n",
		"head":    strings.Replace(data, "interactions:", "more: 1\ninteractions:", 1),
		"CRLF":    strings.ReplaceAll(data, "\n", "\r\n"),
		"nothing": "version: 1\ninteractions: []\n",
	} {
		if text == data {
			t.Fatalf("%s: nothing changed", name)
		}
		if c := (&Cassette{name: name}); c.splitForeign([]byte(text)) {
			t.Errorf("%s: was split into %d", name, c.Len())
		}
	}
}

// A large file without seals is opened in little more memory than it has bytes.
func TestLargeForeignMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plain.yaml")
	data := plainFile(t, 40, 256<<10)
	size := len(data)
	if err := os.WriteFile(path, data, 0o600); err != nil || size < largeForeign {
		t.Fatal(size, err)
	}
	data = nil //nolint:ineffassign,wastedassign // so that it is collected
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil {
		t.Skipf("the peak of memory cannot be reset here: %v", err)
	}
	before := highWater(t)
	c, err := Open(path)
	if err != nil || c.Len() != 40 {
		t.Fatal(err)
	}
	grown := highWater(t) - before
	if t.Logf("opening took %.2f times the size", float64(grown)/float64(size)); grown > size*17/10 {
		t.Errorf("opening %d MiB took %d MiB", size>>20, grown>>20)
	}
}

// highWater is the most memory that this process has held, in bytes.
func highWater(t *testing.T) (kilobytes int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(line, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
