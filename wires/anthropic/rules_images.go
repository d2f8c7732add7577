package anthropic

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // for the size of pictures
	_ "image/jpeg" // likewise
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// The limits of pictures.
const (
	maxImageBytes = 5 << 20
	maxSide       = 8000
	maxSideOfMany = 2000
	many          = 20
)

// imageTypes are the types of pictures that are read.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// picture is an image whose bytes stand in the request. Path leads to its source as the
// referee writes it, said as the API does.
type picture struct {
	path, said string
	source     *tree.Node
}

// pictures lists the images, those inside results too, and how many there are with those
// that stand elsewhere. It lists documents as well if documents is set.
func (c *call) pictures(documents bool) (all []picture, count int) {
	look := func(b *tree.Node, path, said string) {
		kind := b.Text("type")
		if kind != "image" && !(documents && kind == "document") {
			return
		}
		count++
		if source := b.Get("source"); source.Text("type") == "base64" {
			all = append(all, picture{path + ".source", said + "." + kind + ".source.base64", source})
		}
	}
	for i, m := range c.said {
		for j, b := range m.blocks {
			path, said := fmt.Sprintf("messages[%d].content[%d]", i, j), fmt.Sprintf("messages.%d.content.%d", i, j)
			look(b.Node, path, said)
			for k, inner := range b.List("content") {
				look(inner, fmt.Sprintf("%s.content[%d]", path, k), fmt.Sprintf("%s.%s.content.%d", said, b.kind, k))
			}
		}
	}
	return all, count
}

func imagesFew(c *call, p *rule.Pass) {
	most := 600
	if c.model != nil && c.model.context <= k200 {
		most = 100
	}
	if all, count := c.pictures(false); count > most {
		p.Report(all[min(most, len(all)-1)].path, "the request holds %d images; %d are taken", count, most).
			Refuse(invalid("messages: too many images and documents: %d + 0 > %d", count, most))
	}
}

// imagesSmall reads the sizes of PNG, JPEG and GIF. Of WebP only the bytes are counted.
func imagesSmall(c *call, p *rule.Pass) {
	all, count := c.pictures(false)
	side := maxSide
	if count > many {
		side = maxSideOfMany
	}
	for _, at := range all {
		data := at.source.Text("data")
		p.Observe()
		if len(data) > maxImageBytes {
			p.Report(at.path, "the image has %d bytes of base64; %d are taken", len(data), maxImageBytes).
				Refuse(invalid("%s.data: image exceeds 5 MB maximum: %d bytes > %d bytes", at.said, len(data), maxImageBytes))
			continue
		}
		if width, height := imageSize(data); max(width, height) > side {
			p.Report(at.path, "the image has %d × %d pixels; %d on a side are taken", width, height, side).
				Refuse(invalid("%s.data: At least one of the image dimensions exceed max allowed size: %d pixels", at.said, side))
		}
	}
}

// imageSize reads the width and height of an image in base64, 0 where its form is not known.
// The head of a PNG is enough.
func imageSize(data string) (width, height int) {
	decoded := func() io.Reader { return base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)) }
	head := make([]byte, 24)
	if _, err := io.ReadFull(decoded(), head); err == nil && strings.HasPrefix(string(head), "\x89PNG") {
		return int(binary.BigEndian.Uint32(head[16:])), int(binary.BigEndian.Uint32(head[20:]))
	}
	size, _, _ := image.DecodeConfig(decoded())
	return size.Width, size.Height
}

// imagesDecoded lets a recorder cut the bytes out. A document may be in either alphabet.
func imagesDecoded(c *call, p *rule.Pass) {
	all, _ := c.pictures(true)
	for _, at := range all {
		data := at.source.Get("data")
		isImage := strings.HasSuffix(at.said, ".image.source.base64")
		if strings.Contains(data.Text(), "REDACTED") {
			continue
		}
		p.Observe()
		switch {
		case data.Text() != "" && tree.IsBase64(data.Text()) && !(isImage && strings.ContainsAny(data.Text(), "-_")):
		case isImage && data != nil:
			p.Report(at.path, "the data of the image are not base64").Refuse(invalid("%s.data: Invalid base64 data", at.said))
		default:
			p.Report(at.path, "the data of the file are not base64")
		}
	}
}

// imagesNamed has the words of https://github.com/home-assistant/core/issues/167208.
func imagesNamed(c *call, p *rule.Pass) {
	all, _ := c.pictures(false)
	for _, at := range all {
		said := at.source.Text("media_type")
		head := make([]byte, 512)
		n, _ := io.ReadFull(base64.NewDecoder(base64.StdEncoding, strings.NewReader(at.source.Text("data"))), head)
		is := http.DetectContentType(head[:n])
		p.Observe()
		switch {
		case !slices.Contains(imageTypes, strings.ToLower(said)) && said != "image/jpg":
			p.Report(at.path, "the image is of type %q, which is none of %s", rule.Shorten(said), strings.Join(imageTypes, ", "))
		case n > 0 && strings.HasPrefix(is, "image/") && is != strings.ToLower(said):
			p.Report(at.path, "the image is called %s and is %s", said, is).
				Refuse(invalid("%s: The image was specified using the %s media type, but the image appears to be a %s image", at.said, said, is))
		}
	}
}
