package redact

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
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
		in := cassette.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages",
			Header: http.Header{"Content-Type": {"application/json"}},
			Body:   []byte(`{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`)}
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

// TestLeftOut holds that the middle of a text that was searched is left out, whole escapes of its ends
// remain, and new texts are whole.
func TestLeftOut(t *testing.T) {
	r := New([]byte("key"))
	body := func(last string) *jsonscan.Index {
		var b strings.Builder
		for _, text := range talk[:4] {
			quoted, _ := json.Marshal(text)
			fmt.Fprintf(&b, `{"role":"user","content":%s},`, quoted)
		}
		return jsonscan.NewIndex([]byte(`{"messages":[` + b.String() + `{"content":"` + last + `"}]}`))
	}
	first := body("one")
	left, fresh := r.searched.leaveOut(first)
	if len(left) != 1 || len(fresh) != 4 {
		t.Fatalf("the first body has %d parts and %d new texts, want 1 and 4", len(left), len(fresh))
	}
	r.searched.remember(first.Text, fresh, nil)
	second := body("two")
	left, fresh = r.searched.leaveOut(second)
	if len(left) != 5 || len(fresh) != 0 {
		t.Fatalf("the second body has %d parts and %d new texts, want 5 and none", len(left), len(fresh))
	}
	var rest []byte
	for _, part := range left {
		rest = append(rest, part.In(second.Text)...)
	}
	if !json.Valid(rest) || !strings.Contains(string(rest), "two") || len(rest) > len(second.Text)/2 {
		t.Errorf("what is left is: %s", rest)
	}
}

// TestSearchedElsewhere holds that a text that was searched in one place is searched in a place of another kind.
func TestSearchedElsewhere(t *testing.T) {
	r := New([]byte("key"))
	value := strings.Repeat("a b c d e f g h ", 100)
	for body, want := range map[string]int{`{"content":{"text":"` + value + `"}}`: 1,
		`{"env":{"text":"` + value + `"}}`: 1} {
		x := jsonscan.NewIndex([]byte(body))
		_, fresh := r.searched.leaveOut(x)
		if len(fresh) != want {
			t.Errorf("%.20s: %d new texts, want %d", body, len(fresh), want)
		}
		r.searched.remember(x.Text, fresh, nil)
	}
}
