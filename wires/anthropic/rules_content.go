package anthropic

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // for the size of pictures
	_ "image/jpeg" // likewise
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
	"github.com/meerkat-go/conformance/wires/wire"
)

var contentRules = []anthropicRule{
	sureRule("A-8", "reported", "there is at least one message", someMessage),
	judged("ORD-015/roles", likelyRule("A-9", "documented",
		"only newer models take system messages in the conversation", nil), systemTaken),
	everywhere(judged("ORD-015/roles",
		likelyRule("ANT-B8", "reported", "a system message follows the user, or a server tool's result", nil),
		systemPlaced)),
	everywhere(judged("ORD-015/parts", sureRule("A-24", "reported",
		"results and pictures come from the user, thinking and calls from the assistant", nil), blocksPlaced)),
	everywhere(judged("ORD-014/nothing-empty",
		sureRule("A-12", "reported", "no message is empty but a last one of the assistant", nil), someContent)),
	everywhere(judged("ORD-014/nothing-empty", sureRule("ANT-X6", "reported", "an empty text has no cache mark", nil),
		markedText)),
	everywhere(judged("ORD-014/nothing-empty",
		sureRule("A-11", "reported", "no text is empty, and no message white space alone", nil), someText)),
	judged("PAR-009/count", sureRule("A-43", "reported", "there are up to four cache marks", nil), fewMarks),
	judged("PAR-009/lifetimes", sureRule("A-52", "reported",
		"no cache mark of an hour stands behind one of five minutes", nil), longMarksFirst),
	judged("PAR-010/size", sureRule("A-46", "documented", "there are no more images than the model takes", nil),
		imagesFew),
	judged("PAR-010/base64", sureRule("A-46", "documented", "images are base64", nil), imagesDecoded),
	judged("PAR-010/size", sureRule("A-46", "documented", "images are within their limits", nil), imagesSmall),
	judged("PAR-010/media-type", sureRule("A-46", "documented", "images are of the type that they are called", nil),
		imagesNamed),
	everywhere(judged("ORD-015/parts",
		sureRule("A-47", "reported", "the result of an error has text and nothing but text", nil), errorsSay)),
}

func someMessage(c *call, _ rule.Env) *rule.Refusal {
	if len(c.said) == 0 && c.root.Given("thread") == nil {
		return invalid("%s", "messages: at least one message is required")
	}
	return nil
}

// refusesSystem reports whether the model takes no messages of the system: they came with
// Claude 4.8, and by a beta.
func (c *call) refusesSystem() bool {
	m := specs.ParseModel(c.name)
	return m.Family == "claude" && m.HasVersion() && m.IsBefore(4, 8) && !c.hasBeta(betaSystem)
}

func systemTaken(c *call, p *rule.Pass) {
	for i, m := range c.said {
		if m.role == "system" && c.refusesSystem() {
			p.Observe()
			p.Report(fmt.Sprintf("messages[%d].role", i),
				"%s takes no message of the system, only the member system", c.name).
				Refuse(invalid("messages.%d.role: Input should be 'user' or 'assistant'", i))
		}
	}
}

func systemPlaced(c *call, p *rule.Pass) {
	for i, m := range c.said {
		if m.role != "system" || c.refusesSystem() {
			continue
		}
		if p.Observe(); i == 0 || c.said[i-1].role == "assistant" && !endsInResult(c.said[i-1]) {
			p.Report(fmt.Sprintf("messages[%d]", i),
				"a message of the system follows neither the user nor a result of the provider's tools").
				Refuse(invalid("messages.%d: role 'system' must follow a 'user' message or an 'assistant' message ending in a server tool result", i))
		}
	}
}

func endsInResult(m message) bool {
	return len(m.blocks) > 0 && strings.HasSuffix(m.blocks[len(m.blocks)-1].kind, "_tool_result")
}

// rolesKnown reports what the schema refuses.
func rolesKnown(c *call, p *rule.Pass) {
	for i, m := range c.said {
		if p.Observe(); m.Is(tree.Object) && m.role != "user" && m.role != "assistant" && m.role != "system" {
			p.Report(fmt.Sprintf("messages[%d].role", i), "role %q is none of the provider's", m.role)
		}
	}
}

var idForm = regexp.MustCompile("^[a-zA-Z0-9_-]+$")

// idsSpelled reports what the schema refuses.
func idsSpelled(c *call, p *rule.Pass) {
	for b := range c.blocksOf("tool_use", "tool_result") {
		if p.Observe(); !idForm.MatchString(b.toolID()) {
			p.Report(b.place(), "tool id %q holds other characters than letters, digits, _ and -", b.toolID())
		}
	}
}

// inputsKeyed reports what the schema refuses.
func inputsKeyed(c *call, p *rule.Pass) {
	for b := range c.blocksOf("tool_use") {
		if p.Observe(); !b.Get("input").Is(tree.Object) {
			p.Report(b.place(), "input of %s %s is not an object", b.Text("name"), b.toolID())
		}
	}
}

// thinkingSigned reports what the schema refuses, and empty signatures and data.
func thinkingSigned(c *call, p *rule.Pass) {
	for b := range c.blocksOf("thinking", "redacted_thinking") {
		p.Observe()
		if b.kind == "thinking" && b.Text("signature") == "" {
			p.Report(b.place(), "thinking block without a signature")
		} else if b.kind == "redacted_thinking" && b.Text("data") == "" {
			p.Report(b.place(), "redacted thinking without data").Rule = "A-6"
		}
	}
}

// thinkingSpelled reports what the schema refuses.
func thinkingSpelled(c *call, p *rule.Pass) {
	for b := range c.blocksOf("thinking") {
		if p.Observe(); !b.Get("thinking").Is(tree.String) {
			p.Report(b.place(), "thinking block without a thinking text, which may be empty but not absent")
		}
	}
}

// thinkingUnmarked reports what the schema refuses.
func thinkingUnmarked(c *call, p *rule.Pass) {
	for b := range c.blocksOf("thinking", "redacted_thinking") {
		if p.Observe(); b.Has("cache_control") {
			p.Report(b.place(), "%s carries cache_control", b.label())
		}
	}
}

// sides says which role a block belongs to; blocks that are not listed may stand
// anywhere.
var sides = map[string]string{
	"tool_result": "user", "image": "user", "document": "user", "search_result": "user",
	"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant",
	"server_tool_use": "assistant", "mcp_tool_use": "assistant",
}

func blocksPlaced(c *call, p *rule.Pass) {
	for b := range c.blocksOf(slices.Collect(maps.Keys(sides))...) {
		side, role := sides[b.kind], c.said[b.message].role
		if p.Observe(); role != side && (role == "user" || role == "assistant") {
			p.Report(b.place(), "a %s block stands under %s; it can only be in %s messages", b.kind, role, side).
				Refuse(invalid("messages.%d: `%s` blocks can only be in `%s` messages", b.message, b.kind, side))
		}
	}
}

// someContent passes messages that change settings: they need not say anything.
func someContent(c *call, p *rule.Pass) {
	for i, m := range c.said {
		isLast := i == len(c.said)-1 && m.role == "assistant"
		if p.Observe(); m.isEmpty() && !isLast && m.Given("output_config") == nil {
			p.Report(fmt.Sprintf("messages[%d].content", i), "message has no content").
				Refuse(invalid("messages.%d: all messages must have non-empty content except for the optional final assistant message", i))
		}
	}
}

// isEmpty reports whether the message holds neither a block nor a character.
func (m message) isEmpty() bool {
	return len(m.blocks) == 0 || m.blocks[0].Node == nil && m.blocks[0].text == ""
}

func markedText(c *call, p *rule.Pass) {
	for b := range c.blocksOf("text") {
		if b.text == "" && b.Given("cache_control") != nil {
			p.Report(b.place(), "an empty text block carries cache_control").
				Refuse(invalid("messages.%d.content.%d.text: cache_control cannot be set for empty text blocks",
					b.message, b.index))
		}
	}
	for i, b := range c.root.List("system") {
		if p.Observe(); b.Text("text") == "" && b.Given("cache_control") != nil {
			p.Report(fmt.Sprintf("system[%d]", i), "an empty text block carries cache_control").
				Refuse(invalid("system.%d: cache_control cannot be set for empty text blocks", i))
		}
	}
}

// someText lets white space pass beside other blocks: https://github.com/LibreChat-AI/agents/pull/124
// tried both on the API.
func someText(c *call, p *rule.Pass) {
	says := func(b block) bool { return b.kind != "text" || strings.TrimSpace(b.text) != "" }
	for i, m := range c.said {
		for _, b := range m.blocks {
			if b.kind == "text" && b.Node != nil && b.text == "" && b.Given("cache_control") == nil {
				p.Report(b.place(),
					"text block is empty").Refuse(invalid("messages: text content blocks must be non-empty"))
			}
		}
		if !m.isEmpty() && !slices.ContainsFunc(m.blocks, says) {
			p.Report(fmt.Sprintf("messages[%d].content", i), "the message is white space alone").
				Refuse(invalid("messages: text content blocks must contain non-whitespace text"))
		}
	}
}

func fewMarks(c *call, p *rule.Pass) {
	const most = 4
	p.Observe()
	if n := len(marksOf(c.root)); n > most {
		p.Report("cache_control", "%d places carry cache_control; %d may", n, most).
			Refuse(invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", most, n))
	}
}

// longMarksFirst has the words of https://github.com/cnighswonger/claude-code-cache-fix/issues/44.
func longMarksFirst(c *call, p *rule.Pass) {
	short := ""
	for _, mark := range marksOf(c.root) {
		p.Observe()
		isLong, path := mark.Mark.Text("ttl") == "1h", strings.TrimPrefix(mark.Path+".cache_control", ".")
		if isLong && short != "" {
			dotted := strings.NewReplacer("[", ".", "]", "").Replace(path)
			p.Report(path+".ttl", "a cache mark of one hour stands behind the mark of five minutes at %s", short).
				Refuse(invalid("%s.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.", dotted))
			return
		}
		short = path
		if isLong {
			short = ""
		}
	}
}

// marksOf lists the marks for the cache. The mark of the request itself falls on the last block, unless
// that block has one of its own.
func marksOf(root *tree.Node) (marks []wire.CacheMark) {
	at := 0
	look := func(v *tree.Node, path string) {
		if mark := v.Given("cache_control"); mark != nil {
			marks = append(marks, wire.CacheMark{At: at, Path: path, Mark: mark})
		}
	}
	for _, name := range []string{"tools", "system"} {
		for i, v := range root.List(name) {
			look(v, fmt.Sprintf("%s[%d]", name, i))
			at++
		}
	}
	for i, m := range root.List("messages") {
		content := m.Get("content")
		for j, b := range content.List() {
			path := fmt.Sprintf("messages[%d].content[%d]", i, j)
			for k, inner := range b.List("content") {
				look(inner, fmt.Sprintf("%s.content[%d]", path, k))
			}
			look(b, path)
			at++
		}
		if content.Is(tree.String) {
			at++
		}
	}
	if at--; len(marks) == 0 || marks[len(marks)-1].At != at {
		look(root, "")
	}
	return marks
}

func errorsSay(c *call, p *rule.Pass) {
	for b := range c.blocksOf("tool_result") {
		if !b.True("is_error") {
			continue
		}
		p.Observe()
		content := b.Get("content")
		other := slices.IndexFunc(content.List(), func(part *tree.Node) bool { return part.Text("type") != "text" })
		switch {
		case other >= 0:
			p.Report(b.place(), "error result %s holds a block of type %q; it may hold text only", b.toolID(),
				rule.Shorten(content.List()[other].Text("type"))).
				Refuse(invalid("messages.%d.content.%d.tool_result: all content must be type text if is_error is true",
					b.message, b.index))
		case content.Text() == "" && len(content.List()) == 0:
			p.Report(b.place(), "error result %s says nothing", b.toolID()).
				Refuse(invalid("messages.%d.content.%d.tool_result: content cannot be empty if is_error is true",
					b.message, b.index))
		}
	}
}

// The limits of pictures.
const (
	maxImageBytes = 5 << 20
	maxSide       = 8000
	maxSideOfMany = 2000
	many          = 20
)

// picture is an image whose bytes stand in the request. Path leads to its source as the
// referee writes it, said as the API does.
type picture struct {
	path, said string
	source     *tree.Node
}

// pictures lists the images with a source of a type, those inside results too, and how many there are with those
// of other types. It lists documents as well if documents is set.
func (c *call) pictures(documents bool, from string) (all []picture, count int) {
	look := func(b *tree.Node, path, said string) {
		kind := b.Text("type")
		if kind != "image" && !(documents && kind == "document") {
			return
		}
		count++
		if source := b.Get("source"); source.Text("type") == from {
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
	if c.model != nil && c.model.Context <= 200_000 {
		most = 100
	}
	if all, count := c.pictures(false, "base64"); count > most {
		p.Report(all[min(most, len(all)-1)].path, "the request holds %d images; %d are taken", count, most).
			Refuse(invalid("messages: too many images and documents: %d + 0 > %d", count, most))
	}
}

// imagesSmall reads the sizes of PNG, JPEG and GIF. Of WebP only the bytes are counted.
func imagesSmall(c *call, p *rule.Pass) {
	all, count := c.pictures(false, "base64")
	side := maxSide
	if count > many {
		side = maxSideOfMany
	}
	for _, at := range all {
		data := at.source.Text("data")
		p.Observe()
		if len(data) > maxImageBytes {
			p.Report(at.path, "the image has %d bytes of base64; %d are taken", len(data), maxImageBytes).
				Refuse(invalid("%s.data: image exceeds 5 MB maximum: %d bytes > %d bytes", at.said, len(data),
					maxImageBytes))
			continue
		}
		if width, height := imageSize(data); max(width, height) > side {
			p.Report(at.path, "the image has %d × %d pixels; %d on a side are taken", width, height, side).
				Refuse(invalid("%s.data: At least one of the image dimensions exceed max allowed size: %d pixels",
					at.said, side))
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
	all, _ := c.pictures(true, "base64")
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
			words, form := "%s.data: Invalid base64 data", "the data of the image are not base64"
			if data.Text() == "" {
				words, form = "%s: image cannot be empty", "the image is empty"
			}
			p.Report(at.path, form).Refuse(invalid(words, at.said))
		default:
			p.Report(at.path, "the data of the file are not base64")
		}
	}
}

// imagesNamed has the words of https://github.com/home-assistant/core/issues/167208.
func imagesNamed(c *call, p *rule.Pass) {
	all, _ := c.pictures(false, "base64")
	for _, at := range all {
		said := at.source.Text("media_type")
		head := make([]byte, 512)
		n, _ := io.ReadFull(base64.NewDecoder(base64.StdEncoding, strings.NewReader(at.source.Text("data"))), head)
		is := http.DetectContentType(head[:n])
		p.Observe()
		switch {
		case !rule.IsImageType(said):
			p.Report(at.path, "the image is of type %q, which is none of %s", rule.Shorten(said),
				strings.Join(rule.ImageTypes, ", "))
		case n > 0 && strings.HasPrefix(is, "image/") && is != strings.ToLower(said):
			p.Report(at.path, "the image is called %s and is %s", said, is).
				Refuse(invalid("%s: The image was specified using the %s media type, but the image appears to be a %s image", at.said, said, is))
		}
	}
}
