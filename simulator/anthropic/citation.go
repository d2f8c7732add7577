package anthropic

import (
	"unicode/utf8"

	"github.com/meerkat-go/conformance/simulator/jsontree"
	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/specs"
)

// maxCited is how many characters of a document are cited.
const maxCited = 80

// citationOf is what the last text of a reply cites: the beginning of the first
// document of plain text whose citations are enabled. ok is false without one.
func citationOf(root *jsontree.Node) (citation script.Object, ok bool) {
	index := 0
	for _, m := range root.Get("messages").List() {
		for _, b := range m.Get("content").List() {
			if b.Get("type").Text() != "document" {
				continue
			}
			text := b.Get("source").Get("data").Text()
			if b.Given("citations").Get("enabled").True() && b.Get("source").Get("type").Text() == "text" && text != "" {
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

// citesAt returns the citation of block n: the last text of a reply has it, when
// one is asked for.
func citesAt(r script.Reply, n int) (script.Object, bool) {
	for _, later := range r.Blocks[n+1:] {
		if isSpoken(later) {
			return nil, false
		}
	}
	if !isSpoken(r.Blocks[n]) {
		return nil, false
	}
	return citationOf(r.Request.Document)
}

func isSpoken(b script.Block) bool {
	return (b.Kind == specs.KindText || b.Kind == specs.KindSignedText) && b.Text != ""
}
