package bench

import (
	"bytes"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// issued is one finished block of a reply.
type issued struct {
	kind                    blockKind
	id, itemID, name, text  string
	token, draft, arguments string
}

// readReply lists the blocks of an accepted reply, nil for anything else.
func readReply(provider string, res evidence.Response) []issued {
	if res.Status/100 != 2 || len(res.Body) == 0 {
		return nil
	}
	docs := splitDocuments(res.Body)
	switch provider {
	case evidence.Anthropic:
		return anthropicReply(docs)
	case evidence.OpenAI:
		return openAIReply(docs)
	}
	return geminiReply(docs)
}

// splitDocuments splits a reply into its JSON documents: one, the elements of an
// array, or the data of each event.
func splitDocuments(body []byte) []*node {
	if doc, ok := parseJSON(body); ok {
		if !doc.isArray() {
			return []*node{doc}
		}
		var out []*node
		for i := range doc.members {
			out = append(out, doc.members[i].value)
		}
		return out
	}
	var out []*node
	for _, line := range bytes.Split(body, []byte("\n")) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		if !ok {
			continue
		}
		if doc, ok := parseJSON(bytes.TrimSpace(data)); ok {
			out = append(out, doc)
		}
	}
	return out
}

func fromBlock(b *block) issued {
	return issued{kind: b.kind, id: b.id, itemID: b.itemID, name: b.name, text: b.text, token: b.token}
}

func anthropicReply(docs []*node) []issued {
	if len(docs) == 1 && docs[0].at("type").stringValue() == "message" {
		var out []issued
		for i := range docs[0].at("content").countMembers() {
			n := docs[0].at("content", i)
			it := fromBlock(anthropicBlock(n))
			if input := n.at("input"); input != nil {
				it.arguments = string(input.encodeJSON())
			}
			out = append(out, it)
		}
		return out
	}
	return anthropicStream(docs)
}

func anthropicStream(docs []*node) []issued {
	var out []issued
	place := map[int]int{}
	for _, d := range docs {
		index := d.at("index").intValue()
		switch d.at("type").stringValue() {
		case "content_block_start":
			place[index] = len(out)
			out = append(out, fromBlock(anthropicBlock(d.at("content_block"))))
		case "content_block_delta":
			i, ok := place[index]
			if !ok {
				return nil
			}
			delta := d.at("delta")
			out[i].text += delta.at("text").stringValue() + delta.at("thinking").stringValue()
			out[i].token += delta.at("signature").stringValue()
			out[i].arguments += delta.at("partial_json").stringValue()
		}
	}
	return out
}

func openAIReply(docs []*node) []issued {
	var items []*node
	drafts := map[string]string{}
	for _, d := range docs {
		switch kind := d.at("type").stringValue(); {
		case d.at("object").stringValue() == "response":
			items = elementsOf(d.at("output"))
		case kind == "response.output_item.added":
			drafts[d.at("item", "id").stringValue()] = d.at("item", "encrypted_content").stringValue()
		case kind == "response.output_item.done":
			items = append(items, d.at("item"))
		}
	}
	var out []issued
	for _, item := range items {
		for _, b := range openAIItem(item) {
			it := fromBlock(b)
			if b.kind == textBlock {
				it.text = item.at("content", b.pos, "text").stringValue()
			}
			it.arguments = item.at("arguments").stringValue()
			it.draft = drafts[it.itemID]
			out = append(out, it)
		}
	}
	return out
}

func elementsOf(list *node) []*node {
	var out []*node
	for i := range list.countMembers() {
		out = append(out, list.at(i))
	}
	return out
}

// geminiReply joins the text of a stream as clients do: unsigned pieces of one
// kind are one text.
func geminiReply(docs []*node) []issued {
	var out []issued
	for _, d := range docs {
		parts := d.at("candidates", 0, "content", "parts")
		for _, part := range elementsOf(parts) {
			it := fromBlock(geminiPart(part))
			if args := part.at("functionCall", "args"); args != nil {
				it.arguments = string(args.encodeJSON())
			}
			last := len(out) - 1
			joins := it.kind == textBlock || it.kind == thinkingBlock
			if joins && it.token == "" && last >= 0 && out[last].kind == it.kind && out[last].token == "" {
				out[last].text += it.text
				continue
			}
			out = append(out, it)
		}
	}
	return out
}

// modelOf is the model that a request asks for.
func modelOf(ex *evidence.Exchange, root *node) string {
	if ex.Provider != evidence.Gemini {
		return root.at("model").stringValue()
	}
	_, rest, _ := strings.Cut(ex.Request.URL, "/models/")
	name, _, _ := strings.Cut(rest, ":")
	return name
}
