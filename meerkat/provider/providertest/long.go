package providertest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"sync"

	"github.com/meerkat-go/conformance/internal/corpus"
	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
)

// LongStream returns a valid event stream of one reply with about the given
// number of events, made from the recorded streams of provider: their blocks in
// turn, renumbered, or with oneBlock one text block of all their text
// deltas. Without the corpus the deltas are synthetic. The result is the same
// on every call; the caller owns it.
func LongStream(provider string, events int, oneBlock bool) []byte {
	w := &writer{}
	switch provider {
	case "anthropic":
		anthropicStream(w, stockOf(provider), events, oneBlock)
	case "openai":
		openaiStream(w, stockOf(provider), events, oneBlock)
	case "gemini":
		geminiStream(w, stockOf(provider), events, oneBlock)
	default:
		panic("providertest: no provider " + provider)
	}
	return w.Bytes()
}

// wireBlock is the run of payloads of one wire block or item.
type wireBlock [][]byte

// stock is what streams are made of.
type stock struct {
	blocks []wireBlock
	deltas [][]byte // payloads of text deltas
}

var stocks = map[string]func() stock{
	"anthropic": sync.OnceValue(func() stock { return gatherStock("anthropic", anthropicBlocks, anthropicSynthetic) }),
	"openai":    sync.OnceValue(func() stock { return gatherStock("openai", openaiBlocks, openaiSynthetic) }),
	"gemini":    sync.OnceValue(func() stock { return gatherStock("gemini", geminiBlocks, geminiSynthetic) }),
}

func stockOf(provider string) stock { return stocks[provider]() }

// gatherStock collects the blocks of every recorded stream of a provider.
func gatherStock(provider string, blocks func([][]byte) []wireBlock, synthetic func() []wireBlock) stock {
	var s stock
	if dir, ok := corpus.Find(); ok {
		exchanges, _ := loadCorpus(dir, provider)
		for _, e := range exchanges {
			if e.Status == 200 && bytes.Contains(e.Body[:min(len(e.Body), 512)], []byte("data:")) {
				s.blocks = append(s.blocks, blocks(Payloads(e.Body))...)
			}
		}
	}
	if len(s.blocks) == 0 {
		s.blocks = synthetic()
	}
	s.blocks = sampleBlocks(s.blocks, 2000)
	for _, b := range s.blocks {
		for _, p := range b {
			if isTextDelta(p) {
				s.deltas = append(s.deltas, p)
			}
		}
	}
	return s
}

// sampleBlocks takes blocks of about the given number of events altogether: every
// n-th in the order of their size, in a fixed random order. A stream of 2,000
// events and one of 20,000 are then made of the same mix.
func sampleBlocks(blocks []wireBlock, events int) []wireBlock {
	sort.SliceStable(blocks, func(i, j int) bool { return blocks[i].size() < blocks[j].size() })
	total := 0
	for _, b := range blocks {
		total += len(b)
	}
	step := max(1, total/events)
	var out []wireBlock
	for i := step / 2; i < len(blocks); i += step {
		out = append(out, blocks[i])
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func (b wireBlock) size() (n int) {
	for _, p := range b {
		n += len(p)
	}
	return n
}

// Payloads returns the data of every event of a stream whose events have one
// data line each, which all three providers keep to.
func Payloads(body []byte) [][]byte {
	var out [][]byte
	for _, line := range bytes.Split(body, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = bytes.TrimPrefix(data, []byte(" "))
			if jsontok.Valid(data) {
				out = append(out, data)
			}
		}
	}
	return out
}

// isTextDelta recognises visible text of any of the providers.
func isTextDelta(p []byte) bool {
	return containsAll(p, `"text_delta"`) || containsAll(p, `"response.output_text.delta"`) ||
		containsAll(p, `"parts"`, `"text"`) && !containsAll(p, `"thought"`) &&
			!containsAll(p, `"thoughtSignature"`) && !containsAll(p, `"functionCall"`)
}

// memberAt returns the value of one member of an object, nil if it has none.
func memberAt(obj []byte, names ...string) []byte {
	for _, name := range names {
		var found []byte
		_ = jsontok.Fields(obj, func(field, value []byte) error { // the payload is Valid
			if string(field) == name {
				found = value
			}
			return nil
		})
		if obj = found; obj == nil {
			return nil
		}
	}
	return obj
}

func stringAt(obj []byte, names ...string) string { return jsontok.String(memberAt(obj, names...)) }

// replaceNumber replaces an integer member where it stands, so that the spelling of
// everything else survives.
func replaceNumber(p []byte, name string, n int) []byte {
	head := `"` + name + `":`
	at := bytes.Index(p, []byte(head))
	if at < 0 {
		return p
	}
	at += len(head)
	end := at
	for end < len(p) && strings.IndexByte(" 0123456789", p[end]) >= 0 {
		end++
	}
	return append(fmt.Append(bytes.Clone(p[:at]), n), p[end:]...)
}

// writer writes events and counts them.
type writer struct {
	bytes.Buffer
	events int
}

// writeNamedEvent writes an event with its name, as Anthropic and OpenAI do.
func (w *writer) writeNamedEvent(p []byte) {
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", stringAt(p, "type"), p)
	w.events++
}

// writeBareEvent writes an event without a name and with CRLF, as Gemini does.
func (w *writer) writeBareEvent(p []byte) {
	fmt.Fprintf(w, "data: %s\r\n\r\n", p)
	w.events++
}

// proseSentences returns synthetic deltas for machines without the corpus.
func proseSentences() []string {
	words := strings.Fields(`The quick brown fox jumps over the lazy dog while a café in Zürich serves
		"déjà vu" cakes at 7:45 — naïve guests ask why; the answer is 42 \o/ and nobody minds.`)
	var out []string
	for i := range 400 {
		out = append(out, " "+strings.Join(words[i%7:i%7+1+i%4], " "))
	}
	return out
}
