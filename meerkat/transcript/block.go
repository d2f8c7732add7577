package transcript

import "encoding/json"

// BlockType is the kind of a Block: the JSON member block_type.
type BlockType string

// The block types. Opaque is every provider block without a shape of its own
// here, such as server tools, citations and compactions.
const (
	BlockText      BlockType = "text"
	BlockReasoning BlockType = "reasoning"
	BlockToolUse   BlockType = "tool_use"
	BlockOpaque    BlockType = "opaque"
)

// Block is one piece of an assistant message. Blocks stand in the order in
// which they started on the wire and are never sorted. Type says which fields
// count:
//
//	text, reasoning   Text (may be empty when Meta carries a token)
//	tool_use          ID, Name, Args
//	opaque            Kind (the provider's own type name), Raw
type Block struct {
	Type BlockType
	Text string

	ID   string // the provider's call id; synthesised only when it sent none
	Name string
	Args []byte // the argument bytes as streamed; "{}" when none were

	Kind string

	// Meta is the continuity token that came with the block, nil if none.
	Meta *Meta
	// Origin says who made the block, nil for blocks made by hand.
	Origin *Origin
	// Raw is the wire object, kept only where it arrived whole: a unary reply,
	// OpenAI's output_item.done, a Gemini part, any opaque block. Rendering to
	// the same origin sends it untouched; code that edits the block clears it.
	Raw []byte
	// Parts are the images and files that the model itself made with this block,
	// in a form that every provider understands; an opaque block keeps its wire
	// object in Raw beside them.
	Parts []Part
	// Extra holds the members that a newer writer added, as one JSON object; ""
	// if none. They are written back as they were read. A block whose type this
	// version does not know has all its members here.
	Extra string
}

// MetaProvider says whose token a Meta is: the JSON member provider.
type MetaProvider string

// The providers of a Meta. open_ai is how serde, the library of the Rust program
// that shares this format, spells OpenAi.
const (
	MetaAnthropic         MetaProvider = "anthropic"
	MetaAnthropicRedacted MetaProvider = "anthropic_redacted" //nolint:gosec // a tag, no credential
	MetaGemini            MetaProvider = "gemini"
	MetaOpenAI            MetaProvider = "open_ai"
)

// Meta is a provider's continuity token, kept opaque. Provider says which
// fields count:
//
//	anthropic            Signature
//	anthropic_redacted   Data
//	gemini               ThoughtSignature
//	open_ai              ID, EncryptedContent, Summary, Phase
type Meta struct {
	Provider         MetaProvider
	Signature        string
	Data             string
	ThoughtSignature string
	ID               string
	// EncryptedContent is nil when the item carried none.
	EncryptedContent *string
	// Summary holds the summary parts of a reasoning item one by one; nil when
	// unknown, empty but not nil when the item had none.
	Summary []string
	// Phase is "commentary" or "final_answer" on message items that had one.
	Phase string
	// Unknown is the whole JSON object of a meta with a provider tag that this
	// version does not know; it is written back as it was read.
	Unknown json.RawMessage
	// Extra holds the members that a newer writer added, as in Block.
	Extra string
}

// Origin says who made a block: continuity tokens go only back there
// (hand-off rule other-account).
type Origin struct {
	Provider   string `json:"provider"`
	API        string `json:"api,omitempty"`
	Model      string `json:"model,omitempty"`
	Account    string `json:"account,omitempty"`
	ResponseID string `json:"response_id,omitempty"`
	Index      int    `json:"index"`
	// Extra holds the members that a newer writer added, as in Block.
	Extra string `json:"-"`
}

// ToolCall is a view of a tool_use block; it shares the block's bytes.
type ToolCall struct {
	ID   string
	Name string
	Args []byte
}

// Unmarshal decodes the arguments of c into v. Malformed arguments are an
// error of the tool, not of the protocol: answer them with an error result.
func (c ToolCall) Unmarshal(v any) error { return json.Unmarshal(c.Args, v) }

// IsCompaction reports whether b is a compaction of the provider's own: it stands for all
// that was said before it, and means nothing to anybody else.
func (b *Block) IsCompaction() bool { return b.Type == BlockOpaque && b.Kind == "compaction" }

// Text returns a text block.
func Text(text string) Block { return Block{Type: BlockText, Text: text} }

// Reasoning returns a reasoning block with its token, which may be nil.
func Reasoning(text string, meta *Meta) Block {
	return Block{Type: BlockReasoning, Text: text, Meta: meta}
}

// ToolUse returns a tool_use block that owns args.
func ToolUse(id, name string, args []byte) Block {
	return Block{Type: BlockToolUse, ID: id, Name: name, Args: args}
}

// RawJSON is one JSON value kept as the bytes it was read from.
type RawJSON []byte

// JSON returns the arguments as valid JSON for people and logs: themselves
// where they are JSON, else a JSON string that shows them.
func (c ToolCall) JSON() RawJSON {
	if len(c.Args) == 0 {
		return RawJSON("{}")
	}
	return readableJSON(c.Args)
}
