package check

import (
	"bytes"
	"encoding/base64"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// mediaRules judge images and documents beyond the form of one of them, which PAR-010
// judges (R47).
var mediaRules = map[string]rule{
	"MED-002/document-type": documentTypes,
	"MED-002/pdf":           pdfContent,
	"MED-003/text":          imagesAsText,
	"MED-004/left-out":      refusedMediaLeftOut,
	"MED-005/address":       mediaAddresses,
}

// documentTypes: Anthropic takes documents in base64 as PDF only.
func documentTypes(s *Trace, r *report) {
	s.eachRequestOf(wires.PDFOnly, func(x *exchange) {
		for _, m := range x.media() {
			if m.kind != "document" {
				continue
			}
			r.addObserved(1)
			if m.mediaType != pdfType {
				r.addFinding(x, m.place, "A-46", "the document is of type %q, not %s", cutText(m.mediaType, 60), pdfType)
			}
		}
	})
}

const pdfType = "application/pdf"

// pdfContent: what is called a PDF is one. A download that failed is often a web page
// under the name of the file.
func pdfContent(s *Trace, r *report) {
	s.eachPolicyRequest("", func(x *exchange) {
		for _, m := range x.media() {
			if m.mediaType != pdfType || strings.Contains(m.data, "REDACTED") {
				continue
			}
			r.addObserved(1)
			// Readers look for the mark in the first kilobyte.
			if head := decodeHead(m.data, 1<<10); len(head) >= 5 && !bytes.Contains(head, []byte("%PDF")) {
				r.addFinding(x, m.place, x.wire.RuleFor(wires.NotPDF), "the %s is called %s and begins with %q", m.kind, pdfType, cutText(string(head), 20))
			}
		}
	})
}

// decodeHead decodes up to n bytes of base64 in either alphabet, nil where it is none.
func decodeHead(data string, n int) []byte {
	data = strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "").Replace(data[:min(len(data), 2*n)])
	head, err := base64.StdEncoding.DecodeString(data[:min(len(data), n/3*4)/4*4])
	if err != nil {
		return nil
	}
	return head
}

// imageAsText matches an image in base64 that stands inside a text, from a thousand
// characters on: shorter ones are icons and examples.
var imageAsText = regexp.MustCompile(`(?:data:image/[a-z+.-]+;base64,|iVBORw0KGgo|/9j/4[A-Z]|R0lGOD[dl]h|UklGR)[A-Za-z0-9+/]{1000}`)

// imagesAsText: an image is sent as one. As text it costs a token for one or two
// characters, and the model does not see it.
func imagesAsText(s *Trace, r *report) {
	s.eachRequest(func(x *exchange) {
		for i := range x.req.Items {
			it := &x.req.Items[i]
			if it.Model() || it.What != wire.Text && it.What != wire.Result {
				continue
			}
			r.addObserved(1)
			if text := textWithImage(it); text != "" {
				r.addFinding(x, it.Place, "", "%s holds an image in base64 as text, of %d bytes altogether", it.What, len(text))
			}
		}
	})
}

// textWithImage returns a text that the model reads and in which an image stands.
func textWithImage(it *wire.Item) string {
	for _, text := range append(textsForModel(it), it.Text) {
		if imageAsText.MatchString(text) {
			return text
		}
	}
	return ""
}

// textsForModel lists the texts of a result: its content where that is a string, its text
// parts, or all of Gemini's response.
func textsForModel(it *wire.Item) (texts []string) {
	if it.What != wire.Result {
		return nil
	}
	if response := it.Node.Any("functionResponse", "function_response").Get("response"); response != nil {
		return textsBelow(response)
	}
	content := it.Node.Any("content", "output")
	if content.Is(tree.String) {
		return []string{content.Text()}
	}
	for _, part := range content.List() {
		if text := part.Get("text"); text.Is(tree.String) {
			texts = append(texts, text.Text())
		}
	}
	return texts
}

// refusedMediaLeftOut: the medium that a refusal names does not stand in a later request
// that is refused as well. The very same request again is ERR-002's.
func refusedMediaLeftOut(s *Trace, r *report) {
	reported := map[*exchange]bool{}
	s.eachAfterRefusal(func(refused, later *exchange) {
		named := refused.refusedMedium()
		if named == nil || isSameRequest(refused, later) {
			return
		}
		r.addObserved(1)
		for _, m := range later.media() {
			if m.data == named.data && !reported[later] && !later.wasAccepted() {
				reported[later] = true
				r.addBare(later, m.place, refused.refusal.Rule, "the %s that exchange %d was refused for at %s is sent again: %s", m.kind, refused.Index, named.place.Path, refused.refusal.Words)
			}
		}
	})
}

// refusedMedium returns the medium that the words of a refusal point to, nil for none.
func (x *exchange) refusedMedium() *medium {
	media, path := x.media(), placeOfRefusal(x).Path
	i := slices.IndexFunc(media, func(m medium) bool { return path != "" && strings.HasPrefix(path, m.place.Path) })
	if i < 0 && len(media) == 1 && mentionsMedia.MatchString(strings.ToLower(x.refusal.Words)) {
		i = 0
	}
	if i < 0 || media[i].data == "" {
		return nil
	}
	return &media[i]
}

var mentionsMedia = regexp.MustCompile(`\b(image|images|pdf|media_type|mime|file data|inline_data|base64)\b`)

// mediaAddresses: an address of an image or file leads somewhere that the provider can
// reach: not to this machine, not to its network, not to a path.
func mediaAddresses(s *Trace, r *report) {
	s.eachPolicyRequest("", func(x *exchange) {
		for _, a := range x.mediaAddresses() {
			r.addObserved(1)
			if why := unreachable(a.value.Text()); why != "" {
				r.addFinding(x, a.place, "", "the provider cannot fetch %q: %s", cutText(a.value.Text(), 80), why)
			}
		}
	})
}

// address is one URL of an image or file.
type address struct {
	place wire.Place
	value *tree.Node
}

// mediaAddresses lists the URLs that the provider is to fetch. A data URL holds the bytes
// itself.
func (x *exchange) mediaAddresses() (list []address) {
	add := func(v *tree.Node, path string) {
		if v.Is(tree.String) && !strings.HasPrefix(v.Text(), "data:") && !strings.Contains(v.Text(), "REDACTED") {
			list = append(list, address{wire.Place{Event: -1, Off: v.Offset(), Path: path}, v})
		}
	}
	for _, m := range x.req.Msgs {
		for _, field := range []string{"content", "output", "parts"} {
			for j, part := range m.Node.Get(field).List() {
				at := elementPath(m.Path+"."+field, j)
				if source := part.Get("source"); source.Get("type").Text() == "url" {
					add(source.Get("url"), at+".source.url")
				}
				add(part.Get("image_url"), at+".image_url")
				add(part.Get("file_url"), at+".file_url")
				add(part.Any("fileData", "file_data").Any("fileUri", "file_uri"), at+".fileData.fileUri")
			}
		}
	}
	return list
}

// unreachable says why nobody but this machine can fetch an address, "" where that cannot
// be told.
func unreachable(address string) string {
	u, err := url.Parse(address)
	host := ""
	if err == nil {
		host = strings.ToLower(u.Hostname())
	}
	ip, _ := netip.ParseAddr(host)
	switch {
	case err != nil:
		return "it is not a URL"
	case u.Scheme == "file" || u.Scheme == "" && (strings.HasPrefix(address, "/") || strings.HasPrefix(address, ".")):
		return "it is a path on this machine"
	case host == "localhost" || strings.HasSuffix(host, ".localhost") || ip.IsLoopback() || ip.IsUnspecified():
		return "it leads to this machine"
	case ip.IsPrivate() || ip.IsLinkLocalUnicast() || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal"):
		return "it leads into a private network"
	}
	return ""
}
