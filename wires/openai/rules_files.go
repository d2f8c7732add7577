package openai

import (
	"encoding/base64"
	"fmt"
	"net/url"
	urlpath "path"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

var fileRules = []rule.Rule[*request]{
	liveRule("O-3", "an image has a file_id or an image_url", reported, rule.High, imagesHaveSource),
	liveRule("O-30", "the data URL of an image is of a supported type and in base64", reported, rule.High, imagesReadable),
	liveRule("O-30", "a file's data is a data URL of a supported type", recorded, rule.High, filesHaveType),
	liveRule("O-30", "a file behind a URL has a supported type", recorded, rule.Medium, linksHaveType),
}

var sizeRules = []rule.Rule[*request]{
	liveRule("O-27", "the input fits the model's context, estimated at four bytes a token", recorded, rule.Medium, inputFits),
}

// eachPart calls f with each part of one type and its place, until f refuses.
func (q *request) eachPart(typ string, f func(at string, part *tree.Node) *rule.Refusal) *rule.Refusal {
	for i := range q.items {
		for _, member := range []string{"content", "output"} {
			parts := q.items[i].Get(member).List()
			for n := range parts {
				if parts[n].Get("type").Text() != typ {
					continue
				}
				if refusal := f(fmt.Sprintf("input[%d].%s[%d]", i, member, n), parts[n]); refusal != nil {
					return refusal
				}
			}
		}
	}
	return nil
}

func imagesHaveSource(q *request, _ rule.Env) *rule.Refusal {
	return q.eachPart("input_image", func(at string, part *tree.Node) *rule.Refusal {
		if part.Has("file_id") != part.Has("image_url") {
			return nil
		}
		if part.Has("file_id") {
			return nil // both: which one counts is not known
		}
		return invalid("missing_mutually_exclusive_parameters", at,
			"Missing mutually exclusive parameters: '%s'. Ensure you are providing exactly one of: 'file_id' or 'image_url'.", at)
	})
}

// imagesReadable has the words of https://github.com/anomalyco/opencode/issues/23983.
func imagesReadable(q *request, _ rule.Env) *rule.Refusal {
	return q.eachPart("input_image", func(at string, part *tree.Node) *rule.Refusal {
		link := part.Get("image_url").Text()
		mime, isDataURL := mimeType(link)
		if !isDataURL {
			return nil
		}
		_, data, _ := strings.Cut(link, ",")
		fault := "unsupported MIME type '" + mime + "'"
		if slices.Contains([]string{"image/jpeg", "image/jpg", "image/png", "image/gif", "image/webp"}, strings.ToLower(mime)) {
			bytes, err := base64.StdEncoding.DecodeString(data)
			switch {
			case err != nil:
				fault = "an invalid base64-encoded value"
			case len(bytes) == 0:
				fault = "empty base64-encoded bytes"
			default:
				return nil
			}
		}
		at += ".image_url"
		return invalid("invalid_value", at, "Invalid '%s'. Expected a base64-encoded data URL with an image MIME type "+
			"(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got %s.", at, fault)
	})
}

func filesHaveType(q *request, _ rule.Env) *rule.Refusal {
	return q.eachPart("input_file", func(at string, part *tree.Node) *rule.Refusal {
		data := part.Get("file_data")
		if !data.Is(tree.String) || data.Text() == "" {
			return nil
		}
		var fault string
		switch mime, ok := mimeType(data.Text()); {
		case !ok:
			fault = "a value without the 'data:' prefix"
		case unsupportedFile(mime):
			fault = "unsupported MIME type '" + mime + "'"
		default:
			return nil
		}
		at += ".file_data"
		return invalid("invalid_value", at, "Invalid file data: '%s'. Expected a base64-encoded data URL with a valid file MIME type "+
			"(e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got %s. "+
			"Please see https://platform.openai.com/docs/assistants/tools/file-search#supported-files for supported file types.", at, fault)
	})
}

// mimeType is the type of a data URL.
func mimeType(dataURL string) (string, bool) {
	rest, ok := strings.CutPrefix(dataURL, "data:")
	mime, _, found := strings.Cut(rest, ";")
	return mime, ok && found
}

func unsupportedFile(mime string) bool {
	class, _, _ := strings.Cut(mime, "/")
	return class == "audio" || class == "video"
}

var mediaEndings = map[string]bool{".mp3": true, ".wav": true, ".ogg": true, ".flac": true, ".m4a": true, ".mp4": true, ".mov": true, ".mkv": true, ".webm": true, ".avi": true}

func linksHaveType(q *request, _ rule.Env) *rule.Refusal {
	return q.eachPart("input_file", func(_ string, part *tree.Node) *rule.Refusal {
		link, err := url.Parse(part.Get("file_url").Text())
		if err == nil && mediaEndings[strings.ToLower(urlpath.Ext(link.Path))] {
			return invalid("unsupported_file", "input", "The file type you uploaded is not supported. Please try again with a pdf")
		}
		return nil
	})
}

func inputFits(q *request, _ rule.Env) *rule.Refusal {
	const bytesPerToken = 4
	most := q.model.context * bytesPerToken
	if len(q.body.Raw()) <= most || q.body.Get("truncation").Text() == "auto" || q.textSize() <= most {
		return nil
	}
	return invalid("context_length_exceeded", "input", "Your input exceeds the context window of this model. Please adjust your input and try again.")
}

// textSize is the size of what counts as tokens: images, files and sealed
// thoughts do not count by their bytes.
func (q *request) textSize() int {
	size := len(q.body.Raw())
	for i := range q.items {
		size -= len(q.items[i].Get("encrypted_content").Raw())
	}
	for typ, members := range map[string][]string{"input_image": {"image_url"}, "input_file": {"file_data"}} {
		_ = q.eachPart(typ, func(_ string, part *tree.Node) *rule.Refusal {
			for _, m := range members {
				size -= len(part.Get(m).Raw())
			}
			return nil
		})
	}
	return size
}
