package redact

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
)

// talk is what the texts of a conversation are made of: some hold a secret, some only beside another text.
var talk = []string{
	strings.Repeat("The river runs through a wide valley. ", 60),
	strings.Repeat("func main() {\n\tfmt.Println(\"a\", b[1])\n}\n", 80),
	strings.Repeat("a \\ and a \"quote\" \\\\ ", 90) + `\`,
	strings.Repeat(`{"path":"C:\\temp\\x","note":"none"} `, 60),
	strings.Repeat("Lisbon ", 300) + "export DB_PASSWORD=vK9-pQ2x_Rm7wL4z and more",
	strings.Repeat("Prague ", 300) + "API_KEY=",
	"9f8Qm2Lx7Rt4Vw1Zp6Kc " + strings.Repeat("Vienna ", 300),
	strings.Repeat("a=1&b=2 ", 200) + "token%3D7Hq2Zr9Wm4Xk1Vb8Nc5J",
	"short",
}

// TestSearchedOnce compares a redactor that remembers what it has searched with one that searches
// all of each request.
func TestSearchedOnce(t *testing.T) {
	once, always := New([]byte("key")), New([]byte("key"))
	var messages []string
	for n := range 3 * len(talk) {
		quoted, err := json.Marshal(talk[(n*5)%len(talk)])
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%s}]}`, quoted))
		in := cassette.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages", Header: http.Header{"Content-Type": {"application/json"}},
			Body: []byte(`{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`)}
		got, want := once.Request(in), always.Request(in)
		if string(got.Body) != string(want.Body) {
			t.Fatalf("message %d: the redactor that remembers says\n%s\ninstead of\n%s", n, got.Body, want.Body)
		}
		clear(always.searched.done)
	}
	if len(once.searched.done) == 0 {
		t.Error("no text was remembered")
	}
}

// TestShortenedPlaces holds that a place of a shortened body is the same text in the body.
func TestShortenedPlaces(t *testing.T) {
	r := New([]byte("key"))
	body := func(last string) []byte {
		var b strings.Builder
		for _, text := range talk[:4] {
			quoted, _ := json.Marshal(text)
			fmt.Fprintf(&b, `{"role":"user","content":%s},`, quoted)
		}
		return []byte(`{"messages":[` + b.String() + `{"content":"` + last + `"}]}`)
	}
	first := r.searched.shorten(body("one"))
	r.searched.remember(first, nil)
	second := body("two")
	short := r.searched.shorten(second)
	if len(short.cuts) == 0 || len(short.text) >= len(second) {
		t.Fatalf("nothing was left out: %d cuts", len(short.cuts))
	}
	if !json.Valid(short.text) {
		t.Errorf("what is left is no JSON: %s", short.text)
	}
	at := strings.LastIndex(string(short.text), "two")
	places, ok := short.inBody([]lex.Span{lex.Between(at, at+3)})
	if !ok || string(places[0].In(second)) != "two" {
		t.Errorf("%v, %v is not the place of the last text", places, ok)
	}
	if _, ok = short.inBody([]lex.Span{lex.Between(0, len(short.text))}); ok {
		t.Error("a place around a cut was accepted")
	}
}
