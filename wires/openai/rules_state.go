package openai

import (
	"fmt"
	"net/http"
	"net/url"
	urlpath "path"
	"strings"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

var stateRules = []rule.Rule[*request]{
	basicRule(liveRule("O-3",
		"a prompt that stands for the model is one that is stored; here none is, the words are inferred", inferred,
		rule.Low, promptExists)),
	strictRule(liveRule("O-17", "reasoning is sent back without its raw text", reported, rule.Medium, noRawReasoning)),
	judged("PAR-012/exclusive", sureRule("O-26", "previous_response_id and conversation are not given together",
		documented), oneChain),
	liveRule("O-25", "previous_response_id is the id of a response that was stored", recorded, rule.High,
		previousExists),
	liveRule("O-14", "an id that must be looked up is that of an item that was stored", reported, rule.High,
		itemsExist),
}

// promptExists refuses what only a stored prompt could complete. Beside a model a
// prompt is passed over: there is enough to answer. Where tokens of others are
// taken, so are prompts that others have stored.
func promptExists(q *request, env rule.Env) *rule.Refusal {
	if q.body.Has("model") || !q.body.Has("prompt") || env.ForeignTokens {
		return nil
	}
	refusal := invalid("", "prompt", "Prompt with id '%s' not found.", q.body.Text("prompt", "id"))
	refusal.Status = http.StatusNotFound
	return refusal
}

// noRawReasoning is about every model served: none shows its raw reasoning. The
// one recording that passes with some (OAI-L1 has the same code) is of another
// maker's server.
func noRawReasoning(q *request, _ rule.Env) *rule.Refusal {
	for i := range q.items {
		if it := &q.items[i]; it.typ == "reasoning" && len(it.List("content")) > 0 {
			var paths tree.Paths
			at := paths.Member(paths.Element(paths.Member(nil, "input"), i), "content")
			return arrayTooLong(at, 0, len(it.List("content")))
		}
	}
	return nil
}

func oneChain(q *request, p *rule.Pass) {
	if p.Observe(); q.body.Has("previous_response_id") && q.body.Has("conversation") {
		p.Report("previous_response_id", "previous_response_id and conversation are both set").
			Refuse(invalid("mutually_exclusive_parameters", "previous_response_id",
				"Mutually exclusive parameters: 'previous_response_id'. Ensure you are only providing one of: 'previous_response_id' or 'conversation'."))
	}
}

// inputGiven reports what the schema refuses.
func inputGiven(q *request, p *rule.Pass) {
	if !q.body.Has("input") && !q.body.Has("prompt") && !q.body.Has("previous_response_id") &&
		!q.body.Has("conversation") {
		p.Report("input", "the request has no input and names none that is stored")
	}
}

// modelGiven reports what the schema refuses. A stored prompt may name the model.
func modelGiven(q *request, p *rule.Pass) {
	if !q.body.Has("model") && !q.body.Has("prompt") {
		p.Report("model", "model is required and absent")
	}
}

func previousExists(q *request, env rule.Env) *rule.Refusal {
	id := q.body.Text("previous_response_id")
	if id == "" {
		return nil
	}
	if q.account == accountZDR {
		return invalid("unsupported_parameter", "previous_response_id",
			"Previous response cannot be used for this organization due to Zero Data Retention.")
	}
	p, issued := openID(env.Key, id, q.account)
	if issued && p.stored && p.prefix == prefixResponse || !issued && env.ForeignTokens && foreignResponse(id) {
		return nil
	}
	return invalid("previous_response_not_found", "previous_response_id",
		"Previous response with id '%s' not found.", id)
}

// foreignResponse reports whether id may be that of a response of somebody
// else: a prefix and hexadecimal digits.
func foreignResponse(id string) bool {
	digits, ok := strings.CutPrefix(id, prefixResponse)
	return ok && len(digits) >= 32 && strings.Trim(digits, script.Hex) == ""
}

// itemsExist looks at references, and at reasoning and images that bring nothing along but
// their id.
func itemsExist(q *request, env rule.Env) *rule.Refusal {
	for i := range q.items {
		it := &q.items[i]
		bare := it.typ == "item_reference" || it.typ == "reasoning" && !it.Has("encrypted_content") ||
			it.typ == "image_generation_call" && !it.Has("result")
		if !bare || it.id == "" {
			continue
		}
		if it.issued && it.place.stored || !it.issued && env.ForeignTokens {
			continue
		}
		refusal := invalid("", "input", "Item with id '%s' not found.", it.id)
		switch {
		case q.account == accountZDR:
			refusal.Message += " Items are not persisted for Zero Data Retention organizations. Remove this item from your input and try again."
		case !q.store:
			refusal.Message += " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
		}
		refusal.Status = http.StatusNotFound
		return refusal
	}
	return nil
}

var fileRules = []rule.Rule[*request]{
	judged("PAR-010/file", sureRule("O-3", "an image has a file_id or an image_url", reported), imagesHaveSource),
	judged("PAR-010/media-type", sureRule("O-30", "the data URL of an image is of a supported type", reported),
		imagesNamed),
	judged("PAR-010/base64", sureRule("O-30", "the data URLs of images and files are base64", reported), dataDecoded),
	judged("PAR-010/file", sureRule("O-30", "a file's data is a data URL of a supported type", recorded), filesNamed),
	judged("PAR-010/file", liveRule("O-30", "a file behind a URL has a supported type", recorded, rule.Medium, nil),
		linksNamed),
}

var sizeRules = []rule.Rule[*request]{
	liveRule("O-27", "the input fits the model's context, estimated at four bytes a token", recorded, rule.Medium,
		inputFits),
}

// eachPart calls f with each part of the input and its place.
func (q *request) eachPart(f func(at string, part *tree.Node)) {
	for i := range q.items {
		for _, member := range []string{"content", "output"} {
			for n, part := range q.items[i].List(member) {
				f(fmt.Sprintf("input[%d].%s[%d]", i, member, n), part)
			}
		}
	}
}

// imagesHaveSource lets a part with both pass: which one counts is not known.
func imagesHaveSource(q *request, p *rule.Pass) {
	q.eachPart(func(at string, part *tree.Node) {
		if part.Text("type") == "input_image" && !part.Has("file_id") && !part.Has("image_url") {
			p.Report(at,
				"the image has neither file_id nor image_url").Refuse(invalid("missing_mutually_exclusive_parameters",
				at,
				"Missing mutually exclusive parameters: '%s'. Ensure you are providing exactly one of: 'file_id' or 'image_url'.", at))
		}
	})
}

// imageRefused has the words of https://github.com/anomalyco/opencode/issues/23983.
func imageRefused(at, fault string) *rule.Refusal {
	return invalid("invalid_value", at, "Invalid '%s'. Expected a base64-encoded data URL with an image MIME type "+
		"(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got %s.", at, fault)
}

func imagesNamed(q *request, p *rule.Pass) {
	q.eachPart(func(at string, part *tree.Node) {
		mime, isDataURL := rule.MediaType(part.Text("image_url"))
		if !isDataURL || part.Text("type") == "input_file" {
			return
		}
		p.Observe()
		if !rule.IsImageType(mime) {
			p.Report(at+".image_url", "the image is of type %q, which is none of %s", rule.Shorten(mime),
				strings.Join(rule.ImageTypes, ", ")).
				Refuse(imageRefused(at+".image_url", "unsupported MIME type '"+mime+"'"))
		}
	})
}

// dataDecoded lets a recorder cut the bytes out.
func dataDecoded(q *request, p *rule.Pass) {
	q.eachPart(func(at string, part *tree.Node) {
		kind, field := mediumField(part)
		link := part.Text(field)
		form, data, _ := strings.Cut(link, ",")
		if _, isDataURL := rule.MediaType(link); !isDataURL || !strings.HasSuffix(form, "base64") ||
			strings.Contains(data, "REDACTED") {
			return
		}
		p.Observe()
		fault := "an invalid base64-encoded value"
		switch {
		case data == "":
			fault = "empty base64-encoded bytes"
		case tree.IsBase64(data):
			return
		}
		b := p.Report(at+"."+field, "the data of the %s are not base64", kind)
		if kind == "image" {
			b.Refuse(imageRefused(at+".image_url", fault))
		}
	})
}

func filesNamed(q *request, p *rule.Pass) {
	q.eachPart(func(at string, part *tree.Node) {
		data := part.Text("file_data")
		if data == "" {
			return
		}
		at += ".file_data"
		refused := func(fault string) *rule.Refusal {
			return invalid("invalid_value", at,
				"Invalid file data: '%s'. Expected a base64-encoded data URL with a valid file MIME type "+
					"(e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got %s. "+
					"Please see https://platform.openai.com/docs/assistants/tools/file-search#supported-files for supported file types.", at, fault)
		}
		p.Observe()
		switch mime, ok := rule.MediaType(data); {
		case !ok:
			p.Report(at, "file_data is not a data URL").Refuse(refused("a value without the 'data:' prefix"))
		case unsupportedFile(mime):
			p.Report(at, "file_data is of type %q, which is not read as a document",
				rule.Shorten(mime)).Refuse(refused("unsupported MIME type '" + mime + "'"))
		}
	})
}

func unsupportedFile(mime string) bool {
	class, _, _ := strings.Cut(mime, "/")
	return class == "audio" || class == "video"
}

var mediaEndings = map[string]bool{".mp3": true, ".wav": true, ".ogg": true, ".flac": true, ".m4a": true, ".mp4": true,
	".mov": true, ".mkv": true, ".webm": true, ".avi": true}

func linksNamed(q *request, p *rule.Pass) {
	q.eachPart(func(at string, part *tree.Node) {
		link, err := url.Parse(part.Text("file_url"))
		if err == nil && mediaEndings[strings.ToLower(urlpath.Ext(link.Path))] {
			p.Report(at, "the file at file_url is of type %s, which is not read as a document", urlpath.Ext(link.Path)).
				Refuse(invalid("unsupported_file", "input",
					"The file type you uploaded is not supported. Please try again with a pdf"))
		}
	})
}

func inputFits(q *request, _ rule.Env) *rule.Refusal {
	const bytesPerToken = 4
	most := q.model.Context * bytesPerToken
	if len(q.body.Raw()) <= most || q.body.Text("truncation") == "auto" || q.textSize() <= most {
		return nil
	}
	return invalid("context_length_exceeded", "input",
		"Your input exceeds the context window of this model. Please adjust your input and try again.")
}

// textSize is the size of what counts as tokens: images, files and sealed
// thoughts do not count by their bytes.
func (q *request) textSize() int {
	size := len(q.body.Raw())
	for i := range q.items {
		size -= len(q.items[i].Raw("encrypted_content"))
	}
	q.eachPart(func(_ string, part *tree.Node) {
		switch part.Text("type") {
		case "input_image":
			size -= len(part.Raw("image_url"))
		case "input_file":
			size -= len(part.Raw("file_data"))
		}
	})
	return size
}
