package bench

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// pageAsPDF is a web page under the name of a PDF, in base64.
const pageAsPDF = "PCFkb2N0eXBlIGh0bWw+PHRpdGxlPlNpZ24gaW48L3RpdGxlPg=="

// largeImage is an image of some kilobytes in base64.
var largeImage = "iVBORw0KGgo" + strings.Repeat("AAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", 40)

// mediaFaults send images and documents that the provider cannot use.
var mediaFaults = []Kind{
	{Name: "request-too-large", Rule: "A-49", Providers: anthropic, alter: requestTooLarge},
	{Name: "document-is-a-page", Rule: "A-46 O-30 R47", Providers: anthropic, alter: addToTurn("user", `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"`+pageAsPDF+`"}}`)},
	{Name: "file-is-a-page", Rule: "O-30 R47", Providers: openAI, alter: onLastPage(addUserItem(`{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,` + pageAsPDF + `"}]}`))},
	{Name: "inline-data-is-a-page", Rule: "R47", Providers: gemini, alter: addToTurn("user", `{"inlineData":{"mimeType":"application/pdf","data":"`+pageAsPDF+`"}}`)},
	{Name: "document-type-unknown", Rule: "A-46 R47", Providers: anthropic, alter: addToTurn("user", `{"type":"document","source":{"type":"base64","media_type":"application/msword","data":"AAAA"}}`)},
	{Name: "image-as-text-in-result", Rule: "R47", Providers: all, alter: onNewBlock(imageAsText, isKind(resultBlock))},
	{Name: "image-address-local", Rule: "R47", Providers: anthropic, alter: addToTurn("user", `{"type":"image","source":{"type":"url","url":"http://127.0.0.1:3000/shot.png"}}`)},
	{Name: "image-address-is-path", Rule: "R47", Providers: openAI, alter: onLastPage(addUserItem(`{"role":"user","content":[{"type":"input_image","image_url":"file:///home/me/shot.png","detail":"low"}]}`))},
	{Name: "file-address-is-path", Rule: "R47", Providers: gemini, alter: addToTurn("user", `{"fileData":{"mimeType":"image/png","fileUri":"/home/me/shot.png"}}`)},
	{Name: "refused-image-sent-again", Rule: "A-46 R47 R48", Providers: anthropic, prepare: refusedForImage, onFailing: true, alter: imageSentAgain},
}

// requestTooLarge says of the last request that it was longer than its recording.
func requestTooLarge(d *draft, _ *rand.Rand) (Place, bool) {
	k := lastOf(d.scene)
	ex := &d.ev.Exchanges[k]
	ex.Request.Header = ex.Request.Header.Clone()
	if ex.Request.Header == nil {
		return Place{}, false
	}
	ex.Request.Header.Set("Content-Length", "41000000")
	return Place{Exchange: ex.Index, Path: "content-length"}, true
}

func imageAsText(p *page, b *block, _ *rand.Rand) bool {
	holder, key := p.resultBody(b)
	value := `"data:image/png;base64,` + largeImage + `"`
	if p.provider == evidence.Gemini {
		value = `{"output":` + value + `}`
	}
	holder.setMember(key, parseLiteral(value))
	return true
}

const refusedImage = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"}}`

// refusedForImage adds an image to the last request, which is refused for it.
func refusedForImage(d *draft, _ *rand.Rand) bool {
	k := lastOf(d.scene)
	p := d.editableRequest(k)
	i := p.lastTurn("user")
	if i < 0 || len(d.modelCalls()) < 2 || i != p.turnList().countMembers()-1 || p.blockList(i) == nil {
		return false
	}
	content := p.blockList(i)
	content.appendValue(parseLiteral(refusedImage))
	d.commitPage(k, p)
	at := pathString([]any{"messages", i, "content", content.countMembers() - 1})
	d.setReply(k, 400, []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"`+dotted(at)+`.image.source.base64.data: Could not process image"}}`))
	return true
}

// dotted writes a path as Anthropic does: messages.0.content.1.
func dotted(path string) string {
	return strings.NewReplacer("[", ".", "]", "").Replace(path)
}

// imageSentAgain goes on with the image in the history, and is refused as before.
func imageSentAgain(d *draft, _ *rand.Rand) (Place, bool) {
	k := len(d.ev.Exchanges) - 1
	if d.ev.Exchanges[k].Response.Status != 400 || !slices.Contains(d.asked, k) {
		return Place{}, false
	}
	d.repeatExchange(k)
	root := d.requests[k].deepCopy()
	root.at("messages").appendValue(parseLiteral(`{"role":"user","content":[{"type":"text","text":"Never mind the image."}]}`))
	d.ev.Exchanges[k+1].Request.Body = root.encodeJSON()
	return d.placeAt(k+1, nil), true
}
