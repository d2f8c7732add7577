package rule

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/wires"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

// PDFType is the media type of PDF.
const PDFType = "application/pdf"

// ImageTypes are the media types of the images that Anthropic's and OpenAI's models read.
var ImageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// IsImageType reports whether a media type is one of [ImageTypes], or what clients call JPEG.
func IsImageType(name string) bool {
	return slices.Contains(ImageTypes, strings.ToLower(name)) || strings.EqualFold(name, "image/jpg")
}

// MediaType returns the media type of a data URL; ok is false for another URL.
func MediaType(dataURL string) (name string, ok bool) {
	rest, isData := strings.CutPrefix(dataURL, "data:")
	name, _, ok = strings.Cut(rest, ";")
	return name, isData && ok
}

// pdfIsPDF: what is called a PDF is one. A download that failed is often a web page under the name of the
// file.
func pdfIsPDF(s *Seen, p *Pass) {
	for _, m := range s.Request.Media {
		if m.MediaType != PDFType || strings.Contains(m.Data, "REDACTED") {
			continue
		}
		p.Observe()
		// Readers look for the mark in the first kilobyte.
		if head := decodeHead(m.Data, 1<<10); len(head) >= 5 && !bytes.Contains(head, []byte("%PDF")) {
			p.Report(m.Place.Path, "the %s is called %s and begins with %.20q", m.Kind, PDFType,
				head).Rule = s.Wire.RuleFor(wires.NotPDF)
		}
	}
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

// imageAsText matches an image in base64 that stands inside a text.
var imageAsText = regexp.MustCompile(`(?:data:image/[a-z+.-]+;base64,|iVBORw0KGgo|/9j/4[A-Z]|R0lGOD[dl]h|UklGR)[A-Za-z0-9+/]+`)

// leastImageAsText is the shortest match, in bytes, that is reported. Shorter ones are icons or examples.
const leastImageAsText = 1000

// imagesAreNoText: as text an image costs a token for one or two characters, and the model does not see it.
func imagesAreNoText(s *Seen, p *Pass) {
	for it := range wire.Each(s.Request.Items) {
		if it.Model() || it.What != wire.Text && it.What != wire.Result {
			continue
		}
		text := it.Text
		if it.What == wire.Result {
			text = it.Words()
		}
		p.Observe()
		if len(text) < leastImageAsText {
			continue
		}
		isImage := func(match string) bool { return len(match) >= leastImageAsText }
		if slices.ContainsFunc(imageAsText.FindAllString(text, -1), isImage) {
			p.Report(it.Place.Path, "%s holds an image in base64 as text, of %d bytes altogether", it.What, len(text))
		}
	}
}

// addressesLead: an address of an image or file leads somewhere that the provider can reach: not to this
// machine, not to its network, not to a path.
func addressesLead(s *Seen, p *Pass) {
	look := func(v *tree.Node, path string) {
		if !v.Is(tree.String) || strings.HasPrefix(v.Text(), "data:") || strings.Contains(v.Text(), "REDACTED") {
			return
		}
		p.Observe()
		if why := unreachable(v.Text()); why != "" {
			p.Report(path, "the provider cannot fetch %.80q: %s", v.Text(), why)
		}
	}
	for _, m := range s.Request.Msgs {
		for _, field := range []string{"content", "output", "parts"} {
			for j, part := range m.Node.List(field) {
				at := fmt.Sprintf("%s.%s[%d]", m.Path, field, j)
				if source := part.Get("source"); source.Text("type") == "url" {
					look(source.Get("url"), at+".source.url")
				}
				look(part.Get("image_url"), at+".image_url")
				look(part.Get("image_url").Get("url"), at+".image_url.url")
				look(part.Get("file_url"), at+".file_url")
				look(part.Any("fileData", "file_data").Any("fileUri", "file_uri"), at+".fileData.fileUri")
			}
		}
	}
}

// base64Image matches the beginning of an image in base64.
var base64Image = regexp.MustCompile(`^(iVBORw0KGgo|/9j/|R0lGOD|UklGR)[A-Za-z0-9+/]{20}`)

// unreachable says why nobody but this machine can fetch an address, empty where that cannot be told.
func unreachable(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "it is not a URL"
	}
	host := strings.ToLower(u.Hostname())
	ip, _ := netip.ParseAddr(host)
	switch {
	case u.Scheme == "" && base64Image.MatchString(address):
		return "it is an image in base64, without data:TYPE;base64, before it"
	case u.Scheme == "file" || u.Scheme == "" && (strings.HasPrefix(address, "/") || strings.HasPrefix(address, ".")):
		return "it is a path on this machine"
	case host == "localhost" || strings.HasSuffix(host, ".localhost") || ip.IsLoopback() || ip.IsUnspecified():
		return "it leads to this machine"
	case ip.IsPrivate() || ip.IsLinkLocalUnicast() || strings.HasSuffix(host, ".local") ||
		strings.HasSuffix(host, ".internal"):
		return "it leads into a private network"
	}
	return ""
}

// halfSurrogate finds an escape of the first half of a pair without the second, or of a
// second half.
var halfSurrogate = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\\\`)

// textsAreUnicode: a text holds no half of a surrogate pair, and no byte that is not UTF-8 (R33).
func textsAreUnicode(s *Seen, p *Pass) {
	p.Observe()
	at := -1
	if !utf8.Valid(s.Body) {
		for at = 0; ; {
			r, size := utf8.DecodeRune(s.Body[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
	}
	if bytes.Contains(s.Body, []byte(`\ud`)) || bytes.Contains(s.Body, []byte(`\uD`)) {
		for _, m := range halfSurrogate.FindAllIndex(s.Body, -1) {
			if m[1]-m[0] == 6 {
				at = m[0]
				break
			}
		}
	}
	if at >= 0 {
		b := p.Report(s.Root.PathAt(at), "a text holds half of a surrogate pair, or bytes that are not UTF-8")
		b.Rule = cmp.Or(s.Wire.RuleFor(wires.NotUnicode), "R33")
	}
}
