package chat

import (
	"strings"

	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// mediaRules are about the bytes of images and files. The words are those of
// https://github.com/marketing-factory/ai-filemetadata/issues/18,
// https://github.com/ianarawjo/ChainForge/issues/374 and
// https://github.com/Azure/azure-sdk-for-java/issues/41670.
var mediaRules = []rule.Rule[*request]{
	judged("PAR-010/media-type", sureRule("C-99", "OpenAI's models read images of four types", reported), imagesNamed),
	judged("PAR-010/base64", sureRule("C-99", "the data URL of an image is base64", reported), imagesDecoded),
	judged("PAR-010/file", sureRule("C-99", "OpenAI takes a file as the data URL of a PDF", recorded), filesNamed),
}

// eachImage calls see for each image that stands in a data URL. A recorder may cut the bytes out.
func (q *request) eachImage(see func(path, mediaType, link string)) {
	q.eachPart(func(_ int, part *tree.Node, path string) {
		link := part.Get("image_url").Text("url")
		if mediaType, isData := rule.MediaType(link); isData && !strings.Contains(link, "REDACTED") {
			see(path+".image_url.url", mediaType, link)
		}
	})
}

func imagesNamed(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(openAIModels) {
		return
	}
	q.eachImage(func(path, mediaType, _ string) {
		if p.Observe(); rule.IsImageType(mediaType) {
			return
		}
		says := "Invalid MIME type. Only image types are supported."
		if strings.HasPrefix(mediaType, "image/") {
			says = "You uploaded an unsupported image. " +
				"Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp']."
		}
		p.Report(path, "the image is of type %q, which is none of %s", rule.Shorten(mediaType),
			strings.Join(rule.ImageTypes, ", ")).Refuse(q.newRefusal("invalid_image_format", "", "%s", says))
	})
}

func imagesDecoded(q *request, p *rule.Pass) {
	q.eachImage(func(path, _, link string) {
		form, data, _ := strings.Cut(link, ",")
		if p.Observe(); strings.HasSuffix(form, ";base64") && (data == "" || !tree.IsBase64(data)) {
			p.Report(path, "the data of the image are not base64").
				Refuse(q.newRefusal("invalid_base64", "", "Invalid base64 image_url."))
		}
	})
}

func filesNamed(q *request, p *rule.Pass) {
	if !q.dialect.hasTrait(officialMembers) {
		return
	}
	q.eachPart(func(_ int, part *tree.Node, path string) {
		data := part.Get("file").Text("file_data")
		mediaType, isData := rule.MediaType(data)
		if data == "" || strings.Contains(data, "REDACTED") {
			return
		}
		p.Observe()
		path += ".file.file_data"
		refuse := func(b *rule.Breach, fault string) {
			b.Refuse(q.newRefusal("invalid_value", path,
				"Invalid file data: '%s'. Expected a base64-encoded data URL with an application/pdf MIME type "+
					"(e.g. 'data:application/pdf;base64,SGVsbG8sIFdvcmxkIQ=='), but got %s.", path, fault))
		}
		switch {
		case !isData:
			refuse(p.Report(path, "file_data is not a data URL"), "a value without the 'data:' prefix")
		case mediaType != rule.PDFType:
			refuse(p.Report(path, "file_data is of type %q, which is not read as a document", rule.Shorten(mediaType)),
				"unsupported MIME type '"+mediaType+"'")
		}
	})
}
