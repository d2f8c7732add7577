package mutant

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
)

// mediaMutants send images and documents that the provider cannot use.
var mediaMutants = []Mutant{
	{"huge-request", "sends more than the provider takes at once", []string{"MED-001"}, changeHeaders(func(e *editor) bool {
		e.x.Request.Header.Set("Content-Length", "33554433")
		return true
	})},
	{"word-document", "sends a document that is not a PDF", []string{"MED-002"}, changeDocument("application/pdf", func(source *tree.Node) bool {
		return setMember(source, "media_type", jsonString("application/msword"))
	})},
	{"page-for-pdf", "sends a web page under the name of a PDF", []string{"MED-002"}, changeDocument("application/pdf", func(source *tree.Node) bool {
		return setMember(source, "data", jsonString(base64.StdEncoding.EncodeToString([]byte("<!doctype html><title>Sign in</title>"))))
	})},
	{"image-as-text", "sends an image as text", []string{"MED-003"}, changeRequest(func(e *editor) bool {
		picture := jsonString("data:image/png;base64,iVBORw0KGgo" + strings.Repeat("AAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", 40))
		return e.eachItem(func(_ int, it *wire.Item) bool { return !it.Model() && setText(it, picture) })
	})},
	{"carry-media", "goes on with the image that was refused", []string{"MED-004"}, afterStatus(carryMedia, http.StatusBadRequest)},
	{"path-for-address", "names an image by its path", []string{"MED-005"}, changeAddress("file:///home/me/heron.png")},
	{"local-address", "names an image on this machine", []string{"MED-005"}, changeAddress("http://localhost:8080/heron.png")},
}

// changeDocument makes a mutant that changes the first document of a type.
func changeDocument(mediaType string, change func(source *tree.Node) bool) func(evidence.Evidence) (evidence.Evidence, bool) {
	return changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			source := it.Node.Get("source")
			return it.Type == "document" && source.Get("media_type").Text() == mediaType && change(source)
		})
	}, evidence.Anthropic)
}

// changeAddress makes a mutant that gives the first image at an address another one.
func changeAddress(address string) func(evidence.Evidence) (evidence.Evidence, bool) {
	return changeRequest(func(e *editor) bool {
		return e.eachItem(func(_ int, it *wire.Item) bool {
			source := it.Node.Get("source")
			return source.Get("type").Text() == "url" && setMember(source, "url", jsonString(address))
		})
	}, evidence.Anthropic)
}

// carryMedia puts the messages of a refused request before the last one of the next.
func carryMedia(refused, next *evidence.Exchange) bool {
	was := wire.ReadRequest(refused.Provider, refused.Request.Method, refused.Request.URL, refused.Request.Body)
	now := wire.ReadRequest(next.Provider, next.Request.Method, next.Request.URL, next.Request.Body)
	held, list := was.Doc.Get("messages"), now.Doc.Get("messages")
	if held == nil || list == nil {
		return false
	}
	list.SetItems(append(slices.Clone(held.Items()), mustParse(`{"role":"user","content":"Go on."}`)))
	next.Request.Body, next.Response = tree.Encode(now.Doc), refused.Response
	return true
}

// setText makes what the client says in an item another text.
func setText(it *wire.Item, text *tree.Node) bool {
	n, member := it.Node, "text"
	switch it.Type {
	case "function_call_output":
		member = "output"
	case "tool_result":
		member = "content"
	case "message":
		if n = it.Node.Get("content"); n.Is(tree.String) {
			return setMember(it.Node, "content", copyOf(text))
		}
		n = firstText(n)
	}
	return (it.What == wire.Text || it.What == wire.Result) && n.Get(member) != nil && setMember(n, member, copyOf(text))
}

// firstText is the first part of a message that is a text.
func firstText(parts *tree.Node) *tree.Node {
	for _, part := range parts.List() {
		if part.Get("text") != nil {
			return part
		}
	}
	return nil
}
