package cassette

import (
	"bytes"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	vcr "github.com/dnaeon/go-vcr/v2/cassette"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

// stockParse is what stock Load does with a file's bytes.
func stockParse(t rapid.TB, data []byte) *vcr.Cassette {
	t.Helper()
	c := vcr.New("x")
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatalf("stock cannot load: %v\n%s", err, data)
	}
	return c
}

// file is a complete cassette of one interaction.
func file(item []byte) []byte {
	m := testMeta
	m.Version = FormatVersion
	head := encodeHead(m)
	s := sum(head).nextSeal(item)
	data := append(append(head, item...), sealLine(0, len(item), s)...)
	return append(data, closeLine(1, s)...)
}

// encodeItem returns the item of an interaction, as a Writer writes it.
func encodeItem(in Interaction) (item []byte, err error) {
	e := newEntry(in)
	if e.err != nil {
		return nil, e.err
	}
	for piece := range e.pieces {
		item = append(item, piece...)
	}
	return item, e.err
}

// checkItem holds the whole promise for one interaction: our two decoders and
// stock read back what was given, and no line of the item can be taken for
// structure.
func checkItem(t rapid.TB, in Interaction) {
	t.Helper()
	item, err := encodeItem(in)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	data := file(item)
	c, err := Parse("x.yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, readAll(t, c), []Interaction{in})
	for _, room := range [][]byte{nil, make([]byte, 64)} {
		asked, err := c.Asked(0, room)
		if err != nil || asked.Header != nil || asked.Method != in.Request.Method || asked.URL != in.Request.URL ||
			!bytes.Equal(asked.Body, in.Request.Body) {
			t.Fatalf("asked = %+v, %v", asked, err)
		}
	}
	slow := slowDecode(t, item)
	if part := firstDifference(in, slow); part != "" {
		t.Fatalf("yaml.v3 reads another %s", part)
	}
	if bytes.Count(data, []byte("\n"+itemStart)) != 1 || !indented(item) {
		t.Fatalf("structure can be forged:\n%s", item)
	}
	stock := stockParse(t, data)
	if len(stock.Interactions) != 1 {
		t.Fatalf("stock reads %d interactions", len(stock.Interactions))
	}
	got := stock.Interactions[0]
	if got.Request.Body != string(in.Request.Body) || got.Response.Body != string(in.Response.Body) ||
		got.URL != in.Request.URL || got.Method != in.Request.Method || got.Duration != in.Duration ||
		!sameHeader(got.Response.Headers, in.Response.Header, nil) ||
		!sameHeader(got.Request.Headers, in.Request.Header, Reserved) {
		t.Fatalf("stock reads %+v\nwant %+v", got, in)
	}
}

func slowDecode(t rapid.TB, item []byte) Interaction {
	t.Helper()
	var items []*vcrItem
	if err := yaml.Unmarshal(item, &items); err != nil || len(items) != 1 {
		t.Fatalf("yaml.v3: %v", err)
	}
	in, err := items[0].toInteraction()
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// indented reports whether every line after the first starts with six spaces.
func indented(item []byte) bool {
	for line := range bytes.Lines(item[len(itemStart):]) {
		if len(line) > 1 && !bytes.HasPrefix(line, []byte("      ")) {
			return false
		}
	}
	return true
}

// nasty are fragments that break YAML writers, readers or our own index.
var nasty = []string{
	"\n", "\r\n", "\r", "\t", " ", "  ", "\n\n", "\u0085", "\u2028", "\u2029", "\ufeff", "\ufffd", "\ufffe", "\x00",
	"\x7f", "\x80", "\xff",
	"\xed\xa0\x80", "\"", "'", "\\", "\\n", "#", " #", ": ", "- ", "? ", "|", ">", "---", "\n---\n", "\n...\n", "%YAML",
	"&a", "*a", "!!binary", "<<",
	"~", "null", "true", "1e3", "0x1", "=", "{}", "[]", "\n    - request:\n", "\n      # sealed 0 1 ", "\n# closed 1 ",
	"\ninteractions:\n",
	"data: {\"x\":1}\n\n", "event: ping\n", "\U0001f600", "é", "日本", "a", "abc def",
}

func text() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(nasty), rapid.SampledFrom(nasty), rapid.String(),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) })), 0,
			8).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

func header() *rapid.Generator[http.Header] {
	return rapid.Map(rapid.MapOfN(text(), rapid.SliceOfN(text(), 0, 3), 0, 3), func(m map[string][]string) http.Header {
		if m == nil {
			return http.Header{}
		}
		return m
	})
}

func interaction() *rapid.Generator[Interaction] {
	return rapid.Custom(func(t *rapid.T) Interaction {
		body := text().Draw(t, "body")
		return Interaction{
			Request: Request{
				Method: text().Draw(t, "method"), URL: text().Draw(t, "url"), Proto: text().Draw(t, "proto"),
				Header: header().Draw(t, "header"), Body: []byte(text().Draw(t, "request")),
				Encoding: text().Draw(t, "encoding"),
			},
			Response: Response{
				Status: rapid.IntRange(-1, 1000).Draw(t, "status"), Proto: "HTTP/2.0",
				Header: header().Draw(t, "rheader"),
				Body:   []byte(body), Trailer: header().Draw(t, "trailer"), Encoding: text().Draw(t, "rencoding"),
			},
			Timeline: timeline(len(body)).Draw(t, "timeline"), Incomplete: text().Draw(t, "incomplete"),
			Drained:  rapid.IntRange(0, len(body)).Draw(t, "drained"),
			End:      End(text().Draw(t, "end")),
			Duration: time.Duration(rapid.Int64().Draw(t, "duration")),
		}
	})
}

func timeline(size int) *rapid.Generator[[]Chunk] {
	return rapid.Custom(func(t *rapid.T) (out []Chunk) {
		var at time.Duration
		if rapid.Bool().Draw(t, "no timeline") {
			return nil
		}
		for size > 0 {
			n := rapid.IntRange(0, size).Draw(t, "length")
			at += time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "gap"))
			out = append(out, Chunk{At: at, Length: n})
			size -= n
		}
		return out
	})
}

func TestRoundTripProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkItem(t, interaction().Draw(t, "interaction")) })
}

func FuzzRoundTrip(f *testing.F) {
	for i, s := range nasty {
		f.Add([]byte(s+"x"), []byte("x"+s), nasty[(i*7)%len(nasty)], s, s+" ", int64(i))
	}
	f.Fuzz(func(t *testing.T, request, response []byte, key, value, url string, n int64) {
		in := Interaction{
			Request: Request{Method: "POST", URL: url, Header: http.Header{key: {value, url}}, Body: request,
				Encoding: key},
			Response: Response{Status: 200, Header: http.Header{value: {key}, "A": {}}, Body: response,
				Trailer: http.Header{key: {url, value}}, Encoding: url},
			End: End(value), Duration: time.Duration(n), Incomplete: url, Drained: len(response) / 2,
		}
		if len(response) > 0 {
			in.Timeline = []Chunk{{At: time.Duration(uint64(n) >> 20), Length: len(response)}}
		}
		checkItem(t, in)
	})
}

// Whatever bytes are given, reading them never panics and never yields what
// the seals do not cover.
func FuzzParse(f *testing.F) {
	for _, in := range samples() {
		f.Add(file(appendItem(nil, in)))
	}
	f.Add([]byte(stockFile))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("x.yaml", data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error of several lines: %q", err)
			}
			return
		}
		for i := range c.Len() {
			in, err := c.At(i)
			if err != nil {
				continue
			}
			if in.Request.Header == nil || in.Response.Header == nil || in.Request.Body == nil ||
				in.Response.Body == nil {
				t.Fatalf("nil parts: %+v", in)
			}
			if fast, ok := decodeItem(itemOf(c, i)); ok {
				if err := takeReserved(&fast); err == nil && !reflect.DeepEqual(fast, in) {
					t.Fatalf("decoders disagree:\n%+v\n%+v", fast, in)
				}
			}
		}
		_, _, _ = wholeBytes(data)
	})
}

func itemOf(c *Cassette, i int) []byte {
	if !c.Sealed() {
		return nil
	}
	item, _ := c.data.readBytes(c.spans[i].start, c.spans[i].seal)
	return item
}

// FuzzDecode starts from items instead of interactions. What the fast decoder
// takes and the writer could have written, yaml.v3 reads the same way; what the
// writer could not have written never carries a seal of ours.
func FuzzDecode(f *testing.F) {
	for _, in := range samples() {
		f.Add(appendItem(nil, in))
	}
	f.Fuzz(func(t *testing.T, item []byte) {
		in, ok := decodeItem(item)
		if !ok || takeReserved(&in) != nil || !bytes.Equal(appendItem(nil, in), item) {
			return
		}
		if part := firstDifference(slowDecode(t, item), in); part != "" {
			t.Fatalf("decoders disagree on the %s of\n%s", part, item)
		}
	})
}
