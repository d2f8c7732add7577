package anthropic

import (
	"slices"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/seal"
	"github.com/meerkat-go/conformance/wires/tree"
)

// maxCited is how many characters of a document are cited.
const maxCited = 80

// citationOf is what the last text of a reply cites: the beginning of the first
// document of plain text whose citations are enabled. ok is false without one.
func citationOf(root *tree.Node) (citation script.Object, ok bool) {
	index := 0
	for _, m := range root.List("messages") {
		for _, b := range m.List("content") {
			if b.Text("type") != "document" {
				continue
			}
			text := b.Text("source", "data")
			if b.Given("citations").True("enabled") && b.Text("source", "type") == "text" && text != "" {
				cited := firstCharacters(text, maxCited)
				var title any
				if t := b.Given("title"); t != nil {
					title = t
				}
				return script.Object{"type", "char_location", "cited_text", cited, "document_index", index, "document_title", title,
					"start_char_index", 0, "end_char_index", utf8.RuneCountInString(cited), "file_id", nil}, true
			}
			index++
		}
	}
	return nil, false
}

func firstCharacters(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most])
	}
	return text
}

// originIndex is the origin of what a citation of a search result carries for the provider.
const originIndex = "anthropic/search_index"

const searchLocation = "web_search_result_location"

// citesSearch reports whether a citation is of a search result.
func citesSearch(citation script.Object) bool { return citation[1] == searchLocation }

// citedResult is what a text behind a search cites: its first result.
func citedResult(r script.Reply, n int) (citation script.Object, ok bool) {
	for i, b := range slices.Backward(r.Blocks[:n]) {
		if b.Kind != specs.KindSearch || len(b.Search.Results) == 0 {
			continue
		}
		found := b.Search.Results[0]
		token := r.Key.Envelope(seal.Facts{Origin: originIndex, Content: []byte(found.URL)}, seal.Place{Reply: messageID(r), Ordinal: uint16(i)}) //nolint:gosec // a reply has few blocks
		return script.Object{"type", searchLocation, "cited_text", firstCharacters(found.Title, maxCited), "url", found.URL, "title", found.Title, "encrypted_index", token}, true
	}
	return nil, false
}

// citesAt returns the citation of block n: the last text of a reply has it, when
// one is asked for or the reply searched.
func citesAt(r script.Reply, n int) (script.Object, bool) {
	for _, later := range r.Blocks[n+1:] {
		if isSpoken(later) {
			return nil, false
		}
	}
	if !isSpoken(r.Blocks[n]) {
		return nil, false
	}
	if citation, ok := citedResult(r, n); ok {
		return citation, true
	}
	return citationOf(r.Request.Document)
}

func isSpoken(b script.Block) bool {
	return (b.Kind == specs.KindText || b.Kind == specs.KindSignedText) && b.Text != ""
}
