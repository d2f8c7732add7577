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
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/internal/lex"
	"github.com/meerkat-go/conformance/proxy/redact/internal/values"
)

//go:embed testdata/words.txt
var plantedWords string

//go:embed testdata/harmlesswords.txt
var harmlessWords string

// textMaker makes texts out of templates, always the same ones.
type textMaker struct {
	random  *rand.Rand
	secrets []string
}

func newTextMaker(seed string) *textMaker {
	return &textMaker{random: rand.New(rand.NewChaCha8(sha256.Sum256([]byte(seed))))}
}

// drawnWords are the words of pass phrases.
var drawnWords = []string{"walrus", "saddle", "tundra", "copper", "lantern", "thistle", "marmot", "pebble", "juniper", "orchid"}

var alphabets = map[byte]string{
	'a': lex.Alphabet, 'x': "0123456789abcdef", 's': lex.Alphabet + "+/", 'A': lex.Alphabet[:26] + lex.Digits, 'B': lex.Alphabet[:26] + "234567",
	'L': lex.Alphabet[:52], 'd': lex.Digits,
}

func (m *textMaker) letters(kind byte, n int) string {
	from, out := alphabets[kind], make([]byte, n)
	for i := range out {
		out[i] = from[m.random.IntN(len(from))]
	}
	if n > 3 && kind != 'd' && kind != 'L' { // what has no digit is none that can be told from a word
		out[n/2], out[n/3] = 'd'^(kind&0x20^0x20), byte('2'+m.random.IntN(6))
	}
	return string(out)
}

// value makes a value of a kind.
func (m *textMaker) value(kind string) string {
	word := func() string { return drawnWords[m.random.IntN(len(drawnWords))] }
	switch kind {
	case "season": // chosen by somebody who must have all kinds of characters
		return []string{"Summer", "Winter", "Autumn"}[m.random.IntN(3)] + m.letters('d', 4) + "!"
	case "two": // words and digits
		return []string{"Badger", "Violet", "Glacier"}[m.random.IntN(3)] + []string{"Bobcat", "Parrot"}[m.random.IntN(2)] + m.letters('d', 2)
	case "drawn":
		return word() + "-" + word() + "-" + word() + "-" + word()
	case "phrase":
		return word() + " " + word() + " " + word() + " " + word() + " " + word()
	case "mixed":
		return word() + " " + word() + " " + m.letters('d', 2) + " " + m.letters('a', 4)
	case "cap": // letters that could be words elsewhere
		return []string{"Walnut", "Zigzag"}[m.random.IntN(2)] + "_" + []string{"falcon", "jasmine"}[m.random.IntN(2)] + "!"
	case "number": // words, a sign between them, and a number
		return []string{"saffron-Kettle-", "Nimbus-Tractor-", "Harbor.Ostrich.", "Falcon_Biscuit_", "lemon-Anvil-"}[m.random.IntN(5)] + m.letters('d', 2)
	case "quoted": // what is surely a password only in quotes
		return []string{"Orchid+Tractor5", "Bramble(Rocket)3", "Tulip-Engine-Fog", "Kayak_Button_17"}[m.random.IntN(4)]
	case "spaced":
		return []string{"Cactus Drum 1999!", "Teapot Galaxy 42"}[m.random.IntN(2)]
	case "second":
		return []string{"walnut", "changeme"}[m.random.IntN(2)] + "-" + []string{"Ostrich", "Biscuit"}[m.random.IntN(2)]
	case "flag": // what is surely a password only where nothing else can stand
		return []string{"Lantern.", "Compass_", "Tundra-", "Marmot"}[m.random.IntN(4)] + m.letters('d', 1)
	case "words": // whatever it is made of
		return []string{"correct-horse-battery", "walrus_saddle", "tundra.copper"}[m.random.IntN(3)]
	case "listed":
		return "Copper,Violin," + m.letters('d', 2)
	case "uml":
		return []string{"Käse", "Öltür", "Straße"}[m.random.IntN(3)] + m.letters('d', 2) + m.letters('a', 7)
	case "amp":
		return word() + "&amp;" + m.letters('a', 5) + "&lt;" + m.letters('a', 4)
	case "low10":
		return string([]byte("qxkzvjwbphgfcdmt")[m.random.IntN(6):][:10])
	case "Lurl":
		return m.letters('L', 16) + "-" + m.letters('L', 12) + "_Xq"
	case "r":
		return m.letters('a', 5) + "-" + m.letters('a', 5)
	case "crypt":
		return "$6$" + m.letters('a', 16) + "$" + m.letters('a', 86)
	case "bcrypt":
		return "$2y$10$" + m.letters('a', 53)
	case "pw":
		return []string{"Kestrel-", "marmot_Copper", "t!"}[m.random.IntN(3)] + m.letters('d', 4) + "!" + m.letters('L', 3)
	case "u":
		return m.letters('x', 8) + "-" + m.letters('x', 4) + "-4" + m.letters('x', 3) + "-a" + m.letters('x', 3) + "-" + m.letters('x', 12)
	case "jwt":
		return "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ" + m.letters('a', 12) + "." + m.letters('a', 43)
	case "tg":
		return m.letters('d', 10) + ":AA" + m.letters('a', 33)
	case "b64":
		return m.letters('s', 43) + "="
	}
	n, _ := strconv.Atoi(kind[1:])
	return m.letters(kind[0], n)
}

// fill returns the text of a template and notes the secrets in it.
func (m *textMaker) fill(template string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(template, "‹")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		depth, end := 1, 0
		for i, c := range rest {
			depth += strings.Count(string(c), "‹") - strings.Count(string(c), "›")
			if end = i; depth == 0 {
				break
			}
		}
		out.WriteString(m.fillPlace(rest[:end]))
		template = rest[end+len("›"):]
	}
}

func (m *textMaker) fillPlace(kind string) string {
	var text string
	if inner, ok := strings.CutPrefix(kind, "wrap64:"); ok {
		text = base64.StdEncoding.EncodeToString([]byte(m.fill(inner)))
	} else if inner, ok := strings.CutPrefix(kind, "b64of:"); ok {
		password := m.value(inner)
		m.secrets = append(m.secrets, password)
		text = base64.StdEncoding.EncodeToString([]byte("user:" + password))
	} else {
		text = m.value(kind)
	}
	m.secrets = append(m.secrets, text)
	return text
}

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
		fmt.Fprintf(&b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":%s}}\n\n", quoteJSON(text[:size]))
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
		in.Request.Body = []byte(`{"input":[{"type":"function_call_output","call_id":"c","output":` + quoteJSON(`{"stdout":`+quoteJSON(text)+`}`) + `}]}`)
	},
	"command": func(in *cassette.Interaction, text string) {
		in.Request.Body = []byte(`{"contents":[{"parts":[{"functionCall":{"name":"bash","args":{"command":` + quoteJSON(text) + `}}}]}]}`)
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
		in.Request.Body = []byte("a=b&text=" + url.QueryEscape(text))
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
	searchJoined(body, 4<<10, func(j *joinedText) { joined += string(j.text) })
	if _, data, ok := bytes.Cut(body, []byte(`"data":"`)); ok {
		document, _ := base64.StdEncoding.DecodeString(string(data[:bytes.IndexByte(data, '"')]))
		joined += string(document)
	}
	return string(body) + plain + joined
}

// changedBeside returns a text that changed and is none of the secrets nor what stands before
// one in the same word, "" for none.
func changedBeside(was, is []byte, secrets []string) string {
	secret := make([]bool, len(was))
	for _, s := range secrets {
		for at := 0; ; {
			n := bytes.Index(was[at:], []byte(s))
			if n < 0 {
				break
			}
			start, end := at+n, at+n+len(s)
			for start > 0 && strings.IndexByte(" \\\"'=:,", was[start-1]) < 0 {
				start--
			}
			for i := start; i < end; i++ {
				secret[i] = true
			}
			at = end
		}
	}
	for i := range was {
		if !secret[i] && was[i] != is[i] {
			return fmt.Sprintf("%.60q", was[i:])
		}
	}
	return ""
}

// onlyWords are the carriers in which nothing is a credential by structure.
var onlyWords = map[string]bool{"tool result": true, "escaped twice": true, "command": true, "reply": true}

func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}

// Credentials in files, command lines and words are found, however they travel.
func TestPlantedWords(t *testing.T) {
	count := 0
	for name, template := range templates(plantedWords) {
		for carrier := range carriers {
			if carrier == "document" && strings.Contains(template, "wrap64") {
				continue // base64 in base64
			}
			m := newTextMaker(name + carrier)
			filled := m.fill(template)
			in := carried(carrier, filled)
			out := New([]byte("k")).Interaction(in)
			said := spoken(out.Request.Body) + spoken(out.Response.Body)
			for _, secret := range m.secrets {
				if count++; len(secret) >= values.MinWord && strings.Contains(said, secret) {
					t.Errorf("%s, %s: %s leaks of the line\n%s", name, carrier, secret, lineWith(filled, secret))
				}
			}
			if len(out.Request.Body) != len(in.Request.Body) || len(out.Response.Body) != len(in.Response.Body) {
				t.Errorf("%s, %s: a length changed", name, carrier)
			}
			if changed := changedBeside(in.Request.Body, out.Request.Body, m.secrets) + changedBeside(in.Response.Body, out.Response.Body, m.secrets); changed != "" && onlyWords[carrier] {
				t.Errorf("%s, %s: what is no secret changed: %s", name, carrier, changed)
			}
			asked := New([]byte("k"))
			if replayed := asked.Request(in.Request).Body; string(replayed) != string(out.Request.Body) {
				t.Errorf("%s, %s: recorded\n%s\na replay has\n%s", name, carrier, out.Request.Body, replayed)
			}
			if again := New([]byte("k")).Interaction(out); text(again) != text(out) {
				t.Errorf("%s, %s: redacting twice changes\n%s\n%s", name, carrier, text(out), text(again))
			}
		}
	}
	t.Logf("%d secrets", count)
	if count < 300*len(carriers) {
		t.Errorf("only %d secrets", count)
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
			in := carried(carrier, newTextMaker(name+carrier).fill(template))
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
		Response: cassette.Response{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: []byte("data: " + strings.Join(events, "\n\ndata: ") + "\n\n")}}
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
	for _, piece := range []string{`{"command":"apksigner sign --ks-pass`, ` pass:schlues`, `selbund-3 --key-pass pass:schluesselbund-4 app.apk"}`} {
		data, _ := json.Marshal(map[string]any{"type": "content_block_delta", "index": 1, "delta": map[string]string{"type": "input_json_delta", "partial_json": piece}})
		fmt.Fprintf(&stream, "event: content_block_delta\ndata: %s\n\n", data)
	}
	in := cassette.Interaction{Response: cassette.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: []byte(stream.String())}}
	for i := range 20 {
		r := New([]byte{byte(i)})
		r.Learn("schluesselbund-3", "schluesselbund-4")
		once := r.Interaction(in)
		if again := r.Interaction(once); string(again.Response.Body) != string(once.Response.Body) || !strings.Contains(string(again.Response.Body), " pass:RED") {
			t.Errorf("%s\n%s", once.Response.Body, again.Response.Body)
		}
	}
}

// Redacting again finds no more: a line beside a setting that has a pseudonym now says nothing.
func TestSettingBesidePseudonym(t *testing.T) {
	r := New([]byte("k"))
	once := r.Request(cassette.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages", Header: http.Header{"Content-Type": {"application/json"}},
		Body: []byte(`{"messages":[{"role":"user","content":"vault_borg_passphrase: tausend und eine Nacht\nvault_cifs_password: quincaillerie\n"}]}`)})
	if again := r.Request(once); string(again.Body) != string(once.Body) || strings.Count(string(once.Body), "pass") != strings.Count(string(once.Body), ": "+values.Mark) {
		t.Errorf("%s\n%s", once.Body, again.Body)
	}
}
