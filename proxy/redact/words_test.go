package redact

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/internal/jsonscan"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

//go:embed testdata/harmlesswords.txt
var harmlessWords string

// filled returns a harmless text with the random values that its places name: a letter for the alphabet and a length,
// or u for a UUID. They are always the same ones.
func filled(name, template string) string {
	random := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(name))))
	letters := func(from string, n int) string {
		out := make([]byte, n)
		for i := range out {
			out[i] = from[random.IntN(len(from))]
		}
		return string(out)
	}
	const hex = "0123456789abcdef"
	return placeOfValue.ReplaceAllStringFunc(template, func(place string) string {
		kind := strings.Trim(place, "‹›")
		switch n, _ := strconv.Atoi(kind[1:]); kind[0] {
		case 'u':
			return letters(hex, 8) + "-" + letters(hex, 4) + "-4" + letters(hex, 3) + "-a" + letters(hex, 3) + "-" +
				letters(hex, 12)
		case 'x':
			return letters(hex, n)
		case 's':
			return letters(lex.Alphabet+"+/", n)
		case 'b':
			return letters(lex.Alphabet+"+/", 43) + "="
		default:
			return letters(lex.Alphabet, n)
		}
	})
}

var placeOfValue = regexp.MustCompile(`‹[^›]+›`)

// templates returns the named texts of a list.
func templates(list string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Split(list, "\n-- ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		out[name] = strings.TrimSuffix(text, "\n")
	}
	return out
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSpace(b.String())
}

// deltasOf returns a stream that says a text in small pieces.
func deltasOf(text string) []byte {
	var b bytes.Buffer
	for n := 1; text != ""; n = n%7 + 1 {
		size := min(n, len(text))
		for size < len(text) && !utf8.RuneStart(text[size]) {
			size++
		}
		fmt.Fprintf(&b,
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":%s}}\n\n", quoteJSON(text[:size]))
		text = text[size:]
	}
	return b.Bytes()
}

// carriers are the ways in which a text gets into an exchange.
var carriers = map[string]func(in *cassette.Interaction, text string){
	"tool result": func(in *cassette.Interaction, text string) {
		in.Request.Body = []byte(`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":` + quoteJSON(text) + `}]}]}`)
	},
	"escaped twice": func(in *cassette.Interaction, text string) {
		in.Request.Body = []byte(`{"input":[{"type":"function_call_output","call_id":"c","output":` +
			quoteJSON(`{"stdout":`+quoteJSON(text)+`}`) + `}]}`)
	},
	"command": func(in *cassette.Interaction, text string) {
		in.Request.Body = []byte(`{"contents":[{"parts":[{"functionCall":{"name":"bash","args":{"command":` +
			quoteJSON(text) + `}}}]}]}`)
	},
	"document": func(in *cassette.Interaction, text string) {
		in.Request.Body = []byte(`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"text/plain","data":"` + base64.StdEncoding.EncodeToString([]byte(text)) + `"}}]}]}`)
	},
	"plain text": func(in *cassette.Interaction, text string) {
		in.Request.Header.Set("Content-Type", "text/plain")
		in.Request.Body = []byte(text)
	},
	"form": func(in *cassette.Interaction, text string) {
		in.Request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		in.Request.Body = []byte("a=b%3F&text=" + url.QueryEscape(text))
	},
	"error": func(in *cassette.Interaction, text string) {
		in.Response.Body = []byte(`{"error":{"message":` + quoteJSON(text) + `}}`)
	},
	"reply": func(in *cassette.Interaction, text string) {
		in.Response.Body = []byte(`{"content":[{"type":"text","text":` + quoteJSON(text) + `}]}`)
	},
	"deltas": func(in *cassette.Interaction, text string) {
		in.Response.Header.Set("Content-Type", "text/event-stream")
		in.Response.Body = deltasOf(text)
	},
	"comment": func(in *cassette.Interaction, text string) {
		in.Response.Header.Set("Content-Type", "text/event-stream")
		in.Response.Body = []byte(": " + strings.ReplaceAll(text, "\n", "\n: ") + "\n\n")
	},
}

func carried(carrier, text string) cassette.Interaction {
	in := simple()
	in.Request.Header = http.Header{"Content-Type": {"application/json"}}
	in.Response.Header = http.Header{"Content-Type": {"application/json"}}
	in.Request.Body, in.Response.Body = []byte(`{}`), []byte(`{}`)
	carriers[carrier](&in, text)
	return in
}

// spoken returns the texts of a body: as it is, without escapes, and its deltas joined.
func spoken(body []byte) string {
	plain, _ := url.QueryUnescape(string(body))
	joined := ""
	searchJoined(&draft{b: body, index: jsonscan.NewIndex(body)}, 4<<10,
		func(j *joinedText) { joined += string(j.text) })
	if _, data, ok := bytes.Cut(body, []byte(`"data":"`)); ok {
		document, _ := base64.StdEncoding.DecodeString(string(data[:bytes.IndexByte(data, '"')]))
		joined += string(document)
	}
	return string(body) + plain + joined
}

// onlyWords are the carriers in which nothing is a credential by structure.
var onlyWords = map[string]bool{"tool result": true, "escaped twice": true, "command": true, "reply": true}

// examples returns the examples of the rules for texts, each with its secret.
func examples(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("internal/freetext/rules.toml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Rules []struct{ Example string } }
	if err := toml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, r := range file.Rules {
		_, secret, _ := strings.Cut(r.Example, "‹")
		secret, _, _ = strings.Cut(secret, "›")
		out[strings.NewReplacer("‹", "", "›", "").Replace(r.Example)] = secret
	}
	return out
}

// Credentials in files, command lines and words are found, however they travel, as an agent that asks again sends
// them, and once.
func TestExamplesTravel(t *testing.T) {
	for example, secret := range examples(t) {
		for carrier := range carriers {
			in := carried(carrier, example)
			out := New([]byte("k")).Interaction(in)
			if said := spoken(out.Request.Body) + spoken(out.Response.Body); strings.Contains(said, secret) {
				t.Errorf("%s: %s leaks", carrier, example)
			}
			if len(out.Request.Body) != len(in.Request.Body) || len(out.Response.Body) != len(in.Response.Body) {
				t.Errorf("%s, %s: a length changed", carrier, example)
			}
			if replayed := New([]byte("k")).Request(in.Request).Body; string(replayed) != string(out.Request.Body) {
				t.Errorf("%s: recorded\n%s\na replay has\n%s", carrier, out.Request.Body, replayed)
			}
			if again := New([]byte("k")).Interaction(out); text(again) != text(out) {
				t.Errorf("%s: redacting twice changes\n%s\n%s", carrier, text(out), text(again))
			}
		}
	}
}

// Words about credentials, code that uses them and what looks random stay, byte for byte.
func TestHarmlessWords(t *testing.T) {
	r := New([]byte("k"))
	for name, template := range templates(harmlessWords) {
		for carrier := range carriers {
			if strings.HasPrefix(name, "said-") && !onlyWords[carrier] {
				continue // where it is not said, it is a credential by structure
			}
			in := carried(carrier, filled(name+carrier, template))
			if out := r.Interaction(in); text(out) != text(in) {
				t.Errorf("%s, %s: changed\n%s\n%s", name, carrier, text(in), text(out))
			}
		}
	}
}

// A replayer compares a request as it is recorded.
func TestRequestLooksIntoWords(t *testing.T) {
	in := carried("tool result", "API_KEY=Ab3dEf9hIj2kLm5n")
	if got, want := New([]byte("k")).Request(in.Request).Body, New([]byte("k")).Interaction(in).Request.Body; string(got) != string(want) || string(got) == string(in.Request.Body) {
		t.Errorf("%s, recorded as %s", got, want)
	}
}

// A stream of the Responses API says each text again, as a whole, in several events. The end of
// one and the beginning of the next are no sentence.
func TestTextsSaidAgainAreNotJoined(t *testing.T) {
	const said = `ab5f19f1e2 fix: a cache\nfeat: reset of the password: `
	events := []string{
		`{"type":"response.output_text.delta","output_index":0,"delta":"` + said[:30] + `"}`,
		`{"type":"response.output_text.delta","output_index":0,"delta":"` + said[30:] + `"}`,
		`{"type":"response.output_text.done","output_index":0,"text":"` + said + `"}`,
		`{"type":"response.content_part.done","output_index":0,"part":{"type":"output_text","text":"` + said + `"}}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"` + said + `"}]}}`,
		`{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"` + said + `"}]}]}}`,
	}
	in := cassette.Interaction{Request: cassette.Request{Method: "POST", URL: "https://api.openai.com/v1/responses"},
		Response: cassette.Response{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: []byte("data: " + strings.Join(events, "\n\ndata: ") + "\n\n")}}
	if out := New([]byte("k")).Interaction(in); text(out) != text(in) {
		t.Errorf("changed\n%s\n%s", text(in), text(out))
	}
}

// A quotation mark before a secret stays, also where the command comes in pieces.
func TestQuotesStay(t *testing.T) {
	const command, secret = `{"command":"kubectl create secret docker-registry r --docker-password='Copper,Violin,19'"}`, "Copper,Violin,19"
	for _, carrier := range []string{"deltas", "reply"} {
		out := New([]byte("k")).Interaction(carried(carrier, command))
		said := spoken(out.Response.Body)
		if strings.Contains(said, secret) || !strings.Contains(said, "='"+values.Mark) {
			t.Errorf("%s: %s", carrier, said)
		}
	}
}

// Whether a value with a pseudonym in it is a secret does not depend on the letters of the
// pseudonym: an agent that repeats what a replayed reply said would send another request.
func TestPseudonymInAValueStays(t *testing.T) {
	var stream strings.Builder
	for _, piece := range []string{`{"command":"apksigner sign --ks-pass`, ` pass:schlues`,
		`selbund-3 --key-pass pass:schluesselbund-4 app.apk"}`} {
		data, _ := json.Marshal(map[string]any{"type": "content_block_delta", "index": 1,
			"delta": map[string]string{"type": "input_json_delta", "partial_json": piece}})
		fmt.Fprintf(&stream, "event: content_block_delta\ndata: %s\n\n", data)
	}
	in := cassette.Interaction{Response: cassette.Response{Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: []byte(stream.String())}}
	for i := range 20 {
		r := New([]byte{byte(i)})
		r.Learn("schluesselbund-3", "schluesselbund-4")
		once := r.Interaction(in)
		if again := r.Interaction(once); string(again.Response.Body) != string(once.Response.Body) ||
			!strings.Contains(string(again.Response.Body), " pass:RED") {
			t.Errorf("%s\n%s", once.Response.Body, again.Response.Body)
		}
	}
}
