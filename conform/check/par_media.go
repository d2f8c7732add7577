package check

import (
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// medium is one image or file whose bytes stand in a request.
type medium struct {
	place wire.Place
	// kind is image or file, mediaType what the request calls its form, data base64.
	kind, mediaType, data string
}

// media lists the images and files of a request, those inside tool results too.
func (x *exchange) media() (list []medium) {
	for _, m := range x.req.Msgs {
		switch x.Provider {
		case evidence.Anthropic:
			list = appendAnthropicMedia(list, m.Node.Get("content"), m.Path+".content")
		case evidence.OpenAI:
			list = appendOpenAIMedia(list, m.Node.Get("content"), m.Path+".content")
			list = appendOpenAIMedia(list, m.Node.Get("output"), m.Path+".output")
		default:
			list = appendGeminiMedia(list, m.Node.Get("parts"), m.Path+".parts")
		}
	}
	return list
}

func appendAnthropicMedia(list []medium, content *tree.Node, path string) []medium {
	for j, b := range content.List() {
		at := elementPath(path, j)
		source := b.Get("source")
		switch kind := b.Get("type").Text(); {
		case kind == "tool_result":
			list = appendAnthropicMedia(list, b.Get("content"), at+".content")
		case (kind == "image" || kind == "document") && source.Get("type").Text() == "base64":
			list = append(list, medium{wire.Place{Event: -1, Off: source.Offset(), Path: at + ".source"}, kind, source.Get("media_type").Text(), source.Get("data").Text()})
		}
	}
	return list
}

// appendOpenAIMedia reads data URLs: data:image/png;base64,…
func appendOpenAIMedia(list []medium, content *tree.Node, path string) []medium {
	for j, p := range content.List() {
		kind, field := "image", "image_url"
		if p.Get("type").Text() == "input_file" {
			kind, field = "file", "file_data"
		}
		url, ok := strings.CutPrefix(p.Get(field).Text(), "data:")
		if !ok {
			continue
		}
		form, data, _ := strings.Cut(url, ",")
		mediaType, encoding, _ := strings.Cut(form, ";")
		if strings.HasSuffix(encoding, "base64") {
			list = append(list, medium{wire.Place{Event: -1, Off: p.Offset(), Path: elementPath(path, j) + "." + field}, kind, mediaType, data})
		}
	}
	return list
}

func appendGeminiMedia(list []medium, parts *tree.Node, path string) []medium {
	for j, p := range parts.List() {
		if data := p.Any("inlineData", "inline_data"); data.Is(tree.Object) {
			list = append(list, medium{wire.Place{Event: -1, Off: data.Offset(), Path: elementPath(path, j) + ".inlineData"}, "inline", data.Any("mimeType", "mime_type").Text(), data.Get("data").Text()})
		}
	}
	return list
}
