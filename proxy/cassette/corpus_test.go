package cassette

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/internal/corpus"
)

// recorded reads the recorded traffic as interactions.
func recorded(t *testing.T) (out []Interaction) {
	t.Helper()
	for _, path := range corpus.Files(t, "*/*/*.response.json") {
		out = append(out, exchange(t, strings.TrimSuffix(path, ".response.json")))
	}
	return out
}

func exchange(t *testing.T, stem string) (in Interaction) {
	t.Helper()
	var request struct {
		Method, URL, Body string
		Headers           map[string]any
	}
	var response struct {
		Status  int
		Headers map[string]any
		Chunks  []int `json:"recorded_chunk_sizes"`
	}
	load(t, stem+".request.json", &request)
	load(t, stem+".response.json", &response)
	body, err := os.ReadFile(stem + ".response.body")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	in.Request = Request{Method: request.Method, URL: request.URL, Header: toHeader(request.Headers),
		Body: []byte(request.Body)}
	in.Response = Response{Status: response.Status, Header: toHeader(response.Headers), Body: body}
	in.End = EndEOF
	for _, n := range response.Chunks {
		in.Timeline = append(in.Timeline, Chunk{Length: n})
	}
	if checkTimeline(in.Timeline, len(body)) != nil {
		in.Timeline = nil // sizes of the compressed body
	}
	return in
}

func load(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func toHeader(raw map[string]any) http.Header {
	h := http.Header{}
	for name, v := range raw {
		switch v := v.(type) {
		case string:
			h[name] = []string{v}
		case []any:
			for _, s := range v {
				h[name] = append(h[name], s.(string))
			}
		}
	}
	return h
}

// Everything that providers and clients are known to have said survives, byte
// for byte, in our reading and in stock go-vcr's.
func TestRecordedTrafficRoundTrips(t *testing.T) {
	want := recorded(t)
	m := testMeta
	m.Version = FormatVersion
	data := encodeHead(m)
	last, slow := sum(data), 0
	for i, in := range want {
		item, err := encodeItem(in)
		if err != nil {
			t.Fatalf("%s: %v", in.Request.URL, err)
		}
		if _, ok := decodeItem(item); !ok {
			slow++
		}
		last = last.nextSeal(item)
		data = append(append(data, item...), sealLine(i, len(item), last)...)
	}
	c, err := Parse("x.yaml", append(data, closeLine(len(want), last)...))
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, readAll(t, c), want)
	stock := stockParse(t, data)
	for i, got := range stock.Interactions {
		if got.Response.Body != string(want[i].Response.Body) || got.Request.Body != string(want[i].Request.Body) {
			t.Errorf("%s: stock reads another body", want[i].Request.URL)
		}
	}
	if slow > 0 || len(stock.Interactions) != len(want) {
		t.Errorf("%d of %d items take the slow path; stock reads %d", slow, len(want), len(stock.Interactions))
	}
	t.Logf("%d interactions, %d bytes", len(want), len(data))
}
