package evidence

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/meerkat-go/conformance/proxy/cassette"
)

const (
	sentBody = `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Hi <ü> \u00e9"}],"stream":true}`
	gotBody  = "event: message_start\ndata: {\"type\":\"message_start\"}   \n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n"
	endpoint = "https://api.anthropic.com/v1/messages?beta=true"
	elsewere = "https://example.com/collect?key=secret"
)

// readText reads text as the file name, as the command line would.
func readText(name, text string) (Recording, error) {
	fsys := fstest.MapFS{name: {Data: []byte(text)}}
	return Found{Path: "rec/" + name, fsys: fsys, name: name}.Read()
}

// want is the exchange every fixture below holds, beside a skipped one.
func want(chunks []Chunk, end string, by Provenance) Exchange {
	return Exchange{
		Index: 1, Provider: Anthropic, Process: -1, Provenance: by,
		Request: Request{
			Method: "POST", URL: endpoint, Body: []byte(sentBody),
			Header: http.Header{"Anthropic-Version": {"2023-06-01"}},
		},
		Response: Response{
			Status: 200, Body: []byte(gotBody), Chunks: chunks, End: end,
			Header: http.Header{"Content-Type": {"text/event-stream"}},
		},
	}
}

// yamlQuoted uses that a JSON string is a YAML string.
func yamlQuoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

const vcrpyHead = `interactions:
- request:
    body: null
    headers: {}
    method: GET
    uri: ` + elsewere + `
  response:
    body: {string: ok}
    headers: {}
    status: {code: 200, message: OK}
- request:
    headers:
      anthropic-version:
      - '2023-06-01'
    method: POST
    uri: ` + endpoint + "\n"

func vcrpy(sent, got string) string {
	return vcrpyHead + "    " + sent + "\n  response:\n    " + got + `
    headers:
      content-type: [text/event-stream]
    status:
      code: 200
      message: OK
version: 1
`
}

func har(version, content string) string {
	return `{"log":{"version":"` + version + `","creator":{"name":"t","version":"1"},"entries":[
	{"request":{"method":"GET","url":"` + elsewere + `","headers":[]},"response":{"status":200,"headers":[],"content":{"size":2,"text":"ok"}}},
	{"request":{"method":"POST","url":"` + endpoint + `","headers":[{"name":":authority","value":"x"},{"name":"anthropic-version","value":"2023-06-01"}],
	"postData":{"mimeType":"application/json","text":` + yamlQuoted(sentBody) + `}},
	"response":{"status":200,"headers":[{"name":"content-type","value":"text/event-stream"}],"content":{"mimeType":"text/event-stream",` + content + `}}}]}}`
}

func compare(t *testing.T, rec Recording, format Format, ex Exchange) {
	t.Helper()
	if rec.Format != format || rec.Evidence.Source != SourceRecording {
		t.Errorf("read as %s from %s", rec.Format, rec.Evidence.Source)
	}
	if d := cmp.Diff([]Exchange{ex}, rec.Evidence.Exchanges, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	if len(rec.Skipped) != 1 || rec.Skipped[0] != (Skip{0, "GET example.com/collect", unknownProvider()}) {
		t.Errorf("skipped %+v", rec.Skipped)
	}
}

func interactions() []cassette.Interaction {
	return []cassette.Interaction{{
		Request:  cassette.Request{Method: "GET", URL: elsewere, Header: http.Header{}, Body: []byte{}},
		Response: cassette.Response{Status: 200, Header: http.Header{}, Body: []byte("ok")},
	}, {
		Request: cassette.Request{Method: "POST", URL: endpoint,
			Header: http.Header{"Anthropic-Version": {"2023-06-01"}}, Body: []byte(sentBody)},
		Response: cassette.Response{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: []byte(gotBody)},
		Timeline: []cassette.Chunk{{At: time.Millisecond, Length: 10}, {At: time.Second, Length: len(gotBody) - 10}},
		End:      cassette.EndReset,
	}}
}

func TestOwnCassetteKeepsTimesAndEnding(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.yaml")
	w, err := cassette.Create(file, cassette.Meta{Version: cassette.FormatVersion,
		Provenance: cassette.ProvenanceSynthetic}, cassette.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range interactions() {
		if err := w.Append(in); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := Load(file)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	compare(t, all[0], FormatCassette,
		want([]Chunk{{time.Millisecond, 10}, {time.Second, len(gotBody) - 10}}, "reset", ProvenanceSynthetic))

	data, _ := os.ReadFile(file)
	for name, text := range map[string]string{"torn.yaml": string(data[:len(data)-60]),
		"left.yaml.partial": string(data[:len(data)/2])} {
		if _, err := readText(name, text); err == nil || !strings.Contains(err.Error(), "rec/"+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFromInteractions(t *testing.T) {
	ev, skipped := FromInteractions("a case", SourceCassette, interactions())
	if ev.Case != "a case" || ev.Source != SourceCassette || len(skipped) != 1 || len(ev.Exchanges) != 1 {
		t.Fatalf("%+v %+v", ev, skipped)
	}
	ex := ev.Exchanges[0]
	if ex.Index != 1 || ex.Response.End != "reset" || ex.Process != -1 {
		t.Fatalf("%+v", ex)
	}
}

func corpusCase() fstest.MapFS {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"a/case/meta.json":        file(`{"provider":"anthropic"}`),
		"a/case/01.request.json":  file(`{"method":"GET","url":"` + elsewere + `","headers":{},"body":null}`),
		"a/case/01.response.json": file(`{"status":200,"headers":null}`),
		"a/case/01.response.body": file("ok"),
		"a/case/02.request.json": file(`{"method":"POST","url":"` + endpoint +
			`","headers":{"anthropic-version":["2023-06-01"]},"body":` + yamlQuoted(sentBody) + `}`),
		"a/case/02.response.json": file(fmt.Sprintf(`{"status":200,"headers":{"content-type":["text/event-stream"]},"recorded_chunk_sizes":[10,%d]}`, len(gotBody)-10)),
		"a/case/02.response.body": file(gotBody),
		"README.md":               file("no tape"),
		"b/notes.yaml":            file("a: 1"),
		"b/empty.yaml":            file(""),
		"b/other.json":            file("[1]"),
	}
}

func TestCorpusLayout(t *testing.T) {
	found := FindFS(corpusCase(), "root")
	var paths []string
	for _, f := range found {
		paths = append(paths, f.Path)
	}
	if got := strings.Join(paths, " "); got != "root/a/case root/b/empty.yaml root/b/notes.yaml root/b/other.json" {
		t.Fatal(got)
	}
	rec, err := found[0].Read()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, rec, FormatCorpus, want([]Chunk{{0, 10}, {0, len(gotBody) - 10}}, "", ProvenanceUndeclared))
	sub, _ := fs.Sub(corpusCase(), "a/case")
	if one := FindFS(sub, "root/a/case"); len(one) != 1 || !one[0].Named {
		t.Errorf("a case asked for itself: %+v", one)
	}
}

func interactionsOf(list ...cassette.Interaction) []cassette.Interaction { return list }
