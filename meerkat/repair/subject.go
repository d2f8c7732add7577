package repair

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/meerkat/handoff"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// subjectWords say what the words of a refusal are about. The first row that fits
// decides; the words of the three providers are in specs/wire-rules.md.
var subjectWords = []struct {
	kind  handoff.RepairKind
	words *regexp.Regexp
}{
	{
		handoff.RepairTokens,
		regexp.MustCompile("(?i)signature|redacted_thinking|encrypted[ _]content|`thinking` (or|block)|thinking block|required '?reasoning'? item|required following item|item with id|duplicate item|different conversation|expected `thinking`"),
	},
	{
		handoff.RepairTool,
		regexp.MustCompile(`(?i)^[* ]*(GenerateContentRequest\.)?tools[.\[]|invalid schema for function|function_declarations|functionDeclarations|'tools\[|input_schema|tool names must be unique|duplicate function`),
	},
	{
		handoff.RepairMedia,
		regexp.MustCompile(`(?i)\bimages?\b|media[_ ]?type|mime|\bpdf\b|\bdocument\b|file_data|inline_?data|input_image|input_file|\bfile data\b|base64`),
	},
	{
		handoff.RepairParameter,
		regexp.MustCompile(`(?i)temperature|max_?(output_?)?tokens|stop_?sequences?|effort|thinking[._ ](type|level|budget)|thinking_?config|budget_?tokens|budget 0|tool_choice|tool choice|function calling config|json_?schema|output_config|text\.format|cache_control|prompt_cache_key|response_?mime|context_management|compact_?threshold|compact[-_]2026`),
	},
}

// subjects returns what a repair should look at, the likeliest first: what the words
// are about, then what stands at the place that they name.
func (r *Refused) subjects(at place) (kinds []handoff.RepairKind) {
	add := func(kind handoff.RepairKind) {
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	said := r.Err.Message + " " + r.Err.Code + " " + r.Err.Param
	if r.opaqueIn(said) != "" {
		add(handoff.RepairOpaque)
	}
	for _, row := range subjectWords {
		if row.words.MatchString(said) {
			add(row.kind)
			break
		}
	}
	if r.mediaAt(at) != "" {
		add(handoff.RepairMedia)
	}
	if r.opaqueNamed(at) != "" {
		add(handoff.RepairOpaque)
	}
	if len(kinds) == 0 {
		kinds = r.unexplained()
	}
	return kinds
}

// unexplained returns what to look at when nothing says what was refused: tool results
// can be left out at once. When the conversation was refused before since the last
// reply, the cause stands further back.
func (r *Refused) unexplained() []handoff.RepairKind {
	kinds := []handoff.RepairKind{handoff.RepairMessages}
	since := sinceReply(r.History.Messages)
	if slices.ContainsFunc(
		r.History.Repairs,
		func(old handoff.Repair) bool { return old.Kind == handoff.RepairMessages && old.Through > since },
	) {
		kinds = append(kinds, handoff.RepairTokens, handoff.RepairOpaque, handoff.RepairMedia)
	}
	return kinds
}

func (r *Refused) opaqueIn(said string) (kind string) {
	r.anyBlock(func(b *transcript.Block) bool {
		if b.Type == transcript.BlockOpaque && b.Kind != "" && strings.Contains(said, b.Kind) {
			kind = b.Kind
		}
		return kind != ""
	})
	return kind
}

// opaqueNamed returns the kind of the opaque block that the refusal names, by its type
// or by its place, "" for none.
func (r *Refused) opaqueNamed(at place) (kind string) {
	if kind = r.opaqueIn(r.Err.Message + " " + r.Err.Param); kind != "" {
		return kind
	}
	r.anyBlock(func(b *transcript.Block) bool {
		if b.Type == transcript.BlockOpaque && at.holdsBlock(b.Kind) {
			kind = b.Kind
		}
		return kind != ""
	})
	return kind
}

// mediaAt returns the digest of the image or file at a place of the body, "" for none.
func (r *Refused) mediaAt(at place) (digest string) {
	r.anyPart(func(p *transcript.Part) bool {
		if at.holdsPart(p) {
			digest = handoff.PartDigest(p)
		}
		return digest != ""
	})
	return digest
}

var (
	namedFunction = regexp.MustCompile("(?i)(?:function|tool|declaration found:?) [`'\"]?([A-Za-z_][A-Za-z0-9_.:-]*)")
	toolIndex     = regexp.MustCompile(`(?:tools\.|tools\[|function_?[dD]eclarations\[)(\d+)`)
)

// toolNamed returns the tool that a refusal blames, by its name or else by its place in
// the list; "" for none.
func (r *Refused) toolNamed() string {
	said := r.Err.Message + " " + r.Err.Param
	for _, m := range namedFunction.FindAllStringSubmatch(said, 8) {
		if hasTool(r.Request.Tools, m[1]) {
			return m[1]
		}
	}
	for _, m := range slices.Backward(toolIndex.FindAllStringSubmatch(said, 8)) {
		if i, err := strconv.Atoi(m[1]); err == nil && i < len(r.Request.Tools) {
			return r.Request.Tools[i].Name
		}
	}
	return ""
}
