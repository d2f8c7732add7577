package anthropic

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/gif"  // for the size of pictures
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"net/http"
	"strconv"
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

// picture is an image block and the path to it.
type picture struct {
	path   string
	source *tree.Node
}

func (c *call) allPictures() []picture {
	var all []picture
	for i, m := range c.said {
		for j, b := range m.blocks {
			path := "messages." + strconv.Itoa(i) + ".content." + strconv.Itoa(j)
			if b.kind == "image" {
				all = append(all, picture{path + ".image", b.Get("source")})
			}
			inner := b.Get("content").List()
			for k := range inner {
				if inner[k].Get("type").Text() == "image" {
					all = append(all, picture{path + "." + b.kind + ".content." + strconv.Itoa(k) + ".image", inner[k].Get("source")})
				}
			}
		}
	}
	return all
}

func imagesFit(c *call, _ rule.Env) *rule.Refusal {
	all := c.allPictures()
	most := 600
	if c.model != nil && c.model.context <= k200 {
		most = 100
	}
	if len(all) > most {
		return invalid("messages: too many images and documents: %d + 0 > %d", len(all), most)
	}
	side := maxSide
	if len(all) > many {
		side = maxSideOfMany
	}
	for _, p := range all {
		if refusal := p.checkSize(side); refusal != nil {
			return refusal
		}
	}
	return nil
}

// checkSize looks into pictures that come with the request. Of WebP only the bytes are counted. A
// wrong type is refused in the words of https://github.com/home-assistant/core/issues/167208.
func (p picture) checkSize(side int) *rule.Refusal {
	data := p.source.Get("data")
	if p.source.Get("type").Text() != "base64" || data == nil {
		return nil
	}
	path := p.path + ".source.base64.data"
	if len(data.Text()) > maxImageBytes {
		return invalid("%s: image exceeds 5 MB maximum: %d bytes > %d bytes", path, len(data.Text()), maxImageBytes)
	}
	raw, err := base64.StdEncoding.DecodeString(data.Text())
	if err != nil || len(raw) == 0 {
		return invalid("%s: Invalid base64 data", path)
	}
	said, is := p.source.Get("media_type").Text(), http.DetectContentType(raw)
	if strings.HasPrefix(is, "image/") && is != said {
		return invalid("%s: The image was specified using the %s media type, but the image appears to be a %s image", strings.TrimSuffix(path, ".data"), said, is)
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err == nil && max(size.Width, size.Height) > side {
		return invalid("%s: At least one of the image dimensions exceed max allowed size: %d pixels", path, side)
	}
	return nil
}
