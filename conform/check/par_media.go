package check

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/wire"
	"github.com/meerkat-go/conformance/wires/tree"
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

var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// mediaTypes: an image is of a type that the provider reads and of the type that it is
// said to be (A-46, O-30).
func mediaTypes(s *Trace, r *report) {
	s.eachPolicyRequest("", func(x *exchange) {
		for _, m := range x.media() {
			if m.kind != "image" {
				continue
			}
			r.addObserved(1)
			rule := byProvider(x, "A-46", "O-30", "")
			is := sniffImage(m.data)
			switch {
			case !slices.Contains(imageTypes, strings.ToLower(m.mediaType)) && m.mediaType != "image/jpg":
				r.addFinding(x, m.place, rule, "the image is of type %q, which is none of %s", cutText(m.mediaType, 60), strings.Join(imageTypes, ", "))
			case x.Provider == evidence.Anthropic && is != "" && is != strings.ToLower(m.mediaType):
				r.addFinding(x, m.place, rule, "the image is called %s and is %s", m.mediaType, is)
			}
		}
	})
}

// sniffImage returns the type that an image's first bytes show, "" for none it knows.
func sniffImage(data string) string {
	head := imageHead(data, 16)
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF8")):
		return "image/gif"
	case len(head) > 11 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// imageHead decodes the first n bytes, rounded to whole groups of three.
func imageHead(data string, n int) []byte {
	group := min(len(data), (n+2)/3*4) / 4 * 4
	head, _ := base64.StdEncoding.DecodeString(data[:group])
	return head
}

// mediaBase64: the bytes can be decoded (A-46, O-30). What a recorder cut out is no
// breach.
func mediaBase64(s *Trace, r *report) {
	s.eachPolicyRequest("", func(x *exchange) {
		for _, m := range x.media() {
			if strings.Contains(m.data, "REDACTED") {
				continue
			}
			r.addObserved(1)
			if m.data == "" && x.Provider == evidence.Gemini {
				continue // proto-JSON leaves out what is empty
			}
			isAnthropics := x.Provider == evidence.Anthropic && m.kind == "image"
			if m.data == "" || isAnthropics && strings.ContainsAny(m.data, "-_") || !isBase64(strings.NewReplacer("\n", "", "\r", "").Replace(m.data)) {
				r.addFinding(x, m.place, byProvider(x, "A-46", "O-30", "G-3"), "the data of the %s are not base64", m.kind)
			}
		}
	})
}

const (
	maxImageBytes = 5 << 20 // of base64, on Anthropic
	maxImageSide  = 8000    // pixels; 2000 with more than manyImages
	manyImages    = 20
	maxImages     = 600
)

// mediaSizes: images are neither too large nor too many.
func mediaSizes(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.Anthropic, func(x *exchange) {
		images := slices.DeleteFunc(x.media(), func(m medium) bool { return m.kind != "image" })
		side := maxImageSide
		if len(images) > manyImages {
			side = 2000
		}
		if len(images) > maxImages {
			r.addFinding(x, images[maxImages].place, "A-46", "the request holds %d images; %d are taken", len(images), maxImages)
		}
		for _, m := range images {
			r.addObserved(1)
			w, h := imageSize(m.data)
			switch {
			case len(m.data) > maxImageBytes:
				r.addFinding(x, m.place, "A-46", "the image has %d bytes of base64; %d are taken", len(m.data), maxImageBytes)
			case max(w, h) > side:
				r.addFinding(x, m.place, "A-46", "the image has %d × %d pixels; %d on a side are taken", w, h, side)
			}
		}
	})
}

// imageSize reads the width and height of a PNG or GIF, 0 for other forms.
func imageSize(data string) (width, height int) {
	head := imageHead(data, 24)
	switch sniffImage(data) {
	case "image/png":
		if len(head) >= 24 {
			return int(binary.BigEndian.Uint32(head[16:])), int(binary.BigEndian.Uint32(head[20:]))
		}
	case "image/gif":
		return int(binary.LittleEndian.Uint16(head[6:])), int(binary.LittleEndian.Uint16(head[8:]))
	}
	return 0, 0
}

var mediaEndings = []string{".mp3", ".wav", ".ogg", ".flac", ".m4a", ".mp4", ".mov", ".mkv", ".webm", ".avi"}

// filesReadable: the bytes of a file are a data URL of a type that is read as a document
// (O-30).
func filesReadable(s *Trace, r *report) {
	s.eachPolicyRequest(evidence.OpenAI, func(x *exchange) {
		for _, m := range x.req.Msgs {
			for _, field := range []string{"content", "output"} {
				for j, p := range m.Node.Get(field).List() {
					at := wire.Place{Event: -1, Off: p.Offset(), Path: elementPath(m.Path+"."+field, j)}
					data := p.Get("file_data")
					if link, err := url.Parse(p.Get("file_url").Text()); err == nil && slices.Contains(mediaEndings, strings.ToLower(path.Ext(link.Path))) {
						r.addFinding(x, at, "O-30", "the file at file_url is of type %s, which is not read as a document", path.Ext(link.Path))
					}
					if p.Get("type").Text() == "input_image" && p.Get("file_id").Null() && p.Get("image_url").Null() {
						r.addFinding(x, at, "O-3", "the image has neither file_id nor image_url")
					}
					if data.Text() == "" {
						continue
					}
					r.addObserved(1)
					at = wire.Place{Event: -1, Off: data.Offset(), Path: at.Path + ".file_data"}
					form, isURL := strings.CutPrefix(data.Text(), "data:")
					switch {
					case !isURL:
						r.addFinding(x, at, "O-30", "file_data is not a data URL")
					case hasPrefixOf(form, []string{"audio/", "video/"}):
						r.addFinding(x, at, "O-30", "file_data is of type %q, which is not read as a document", cutText(form[:max(0, strings.IndexAny(form, ";,"))], 60))
					}
				}
			}
		}
	})
}
