package cassette

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	vcr "github.com/dnaeon/go-vcr/v2/cassette"
	"gopkg.in/yaml.v3"
)

// fuzzedBodies are n bodies put together from what breaks YAML, and from bytes.
func fuzzedBodies(n int) []string {
	r := rand.New(rand.NewPCG(1, 2)) // the same bodies every time
	bodies := make([]string, n)
	for i := range bodies {
		var b strings.Builder
		for range r.IntN(7) {
			if r.IntN(8) > 0 {
				b.WriteString(nasty[r.IntN(len(nasty))])
				continue
			}
			for range r.IntN(6) {
				b.WriteByte(byte(r.Uint32()))
			}
		}
		bodies[i] = b.String()
	}
	return bodies
}

// V5: what stock go-vcr's own Save destroys, our file keeps, and stock's Load
// reads it: 30,000 bodies, twice each.
func TestV5StockLoadsWhatItsOwnSaveDestroys(t *testing.T) {
	bodies := fuzzedBodies(30_000)
	if testing.Short() {
		bodies = bodies[:3_000]
	}
	lost := 0
	for batch := range len(bodies) / 3_000 {
		part := bodies[batch*3_000:][:3_000]
		text := []byte(plainHead)
		for i, body := range part {
			text = appendItem(text, Interaction{
				Request: Request{Method: "POST", URL: "https://api.openai.com/v1/responses",
					Body: []byte(part[len(part)-1-i])},
				Response: Response{Status: 200, Body: []byte(body)},
			})
		}
		stock := stockParse(t, text)
		for i, body := range part {
			if got := stock.Interactions[i]; got.Response.Body != body || got.Request.Body != part[len(part)-1-i] {
				t.Fatalf("stock reads %q and %q; want %q and %q", got.Request.Body, got.Response.Body,
					part[len(part)-1-i], body)
			}
		}
		lost += destroyedByStock(part)
	}
	if lost == 0 {
		t.Error("stock's own Save destroys none of these bodies: they prove nothing")
	}
	t.Logf("%d bodies; stock's own Save destroys %d of them", len(bodies), lost)
}

// destroyedByStock counts the bodies that do not come back from how stock's Save
// writes them.
func destroyedByStock(bodies []string) (lost int) {
	for _, body := range bodies {
		text, err := yaml.Marshal(vcr.Response{Body: body})
		var back vcr.Response
		if err != nil || yaml.Unmarshal(text, &back) != nil || back.Body != body {
			lost++
		}
	}
	return lost
}

// V6: stock loads a version that does not exist and passes over keys it does not
// know; ours refuses both.
func TestV6StockLoadsAnyVersion(t *testing.T) {
	for _, text := range []string{
		strings.Replace(stockFile, "version: 1", "version: 99", 1),
		strings.Replace(stockFile, "    method: POST", "    method: POST\n    host: x", 1),
	} {
		if got := stockParse(t, []byte(text)); len(got.Interactions) != 1 {
			t.Error("stock has become strict; the reason for ours is gone")
		}
		if _, err := Parse("x.yaml", []byte(text)); err == nil {
			t.Errorf("read without complaint:\n%s", text)
		}
	}
}

// V13: go-vcr v2.1.0 imports yaml.v3 and does not require it; ours does, or
// nothing would build.
func TestV13GoModNamesYAML(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`\n\tgopkg\.in/yaml\.v3 v3\.\S+\n`, `\n\tgithub\.com/dnaeon/go-vcr/v2 v2\.1\.0\n`} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("go.mod does not require %q itself", want)
		}
	}
}

// V1: go-vcr's recorder buffers whole bodies and loses those that break off, so
// only its file format is used: no code that ships imports it.
func TestV1StockIsAnOracleOnly(t *testing.T) {
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "peers" ||
			d.Name() == "node_modules") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(`"github.com/dnaeon/go-vcr/v2/recorder"`)) {
			t.Errorf("%s imports its recorder", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
