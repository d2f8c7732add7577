package gemini

import (
	"bytes"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/stream"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// dialect reads GenerateContentResponse objects. They have no block events:
// consecutive unsigned text parts of one kind are deltas of one block, every
// other part is a block of its own.
type dialect struct {
	asm    *stream.Assembler
	idSeed string
	keys   int // blocks given a key so far

	text     int              // key of the text block under way
	textKind stream.EventKind // its kind, 0 when there is none
	call     *partialCall     // the call whose arguments are being streamed
	calls    int

	usage   counts
	blocked bool   // the prompt was refused
	finish  string // the last finishReason, which wins
	fast    fastChunkReader
	general bool // never take the fast path; both are held equal by tests
}

func newDialect(opts stream.Options) *dialect {
	return &dialect{asm: stream.NewAssembler(opts), idSeed: opts.IDSeed}
}

// Event implements stream.Dialect.
func (d *dialect) Event(_, data []byte) error {
	var err error
	if !d.general && d.fastChunk(data) {
		err = d.applyFastChunk()
	} else {
		err = d.readChunk(data)
	}
	if err != nil && !stream.IsVerdict(err) {
		return d.asm.Anomaly(stream.RuleMalformedEvent, "%v", err)
	}
	return err
}

// camelCase returns name without underscores, as the API writes it: proto-JSON may
// be spelled either way.
func camelCase(name []byte) []byte {
	if bytes.IndexByte(name, '_') < 0 {
		return name
	}
	out := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		if name[i] == '_' && i+1 < len(name) && 'a' <= name[i+1] && name[i+1] <= 'z' {
			i++
			out = append(out, name[i]-'a'+'A')
		} else {
			out = append(out, name[i])
		}
	}
	return out
}

// chunk is one GenerateContentResponse, its parts still JSON.
type chunk struct {
	candidates, feedback, usage, error []byte
	known                              bool
}

// readChunk is the general path of a chunk.
func (d *dialect) readChunk(data []byte) error {
	var c chunk
	err := jsontok.Fields(data, func(field, value []byte) error {
		switch string(camelCase(field)) {
		case "candidates":
			c.candidates = value
		case "promptFeedback":
			c.feedback = value
		case "usageMetadata":
			c.usage = value
		case "error":
			c.error = value
		case "responseId":
			d.asm.SetID(jsontok.Text(value))
		case "modelVersion":
			d.asm.SetModel(jsontok.Text(value))
		default:
			return nil
		}
		c.known = true
		return nil
	})
	if err != nil {
		return err
	}
	if !c.known {
		d.asm.Note(stream.RuleUnknownEvent, "a chunk without any known member")
	}
	return d.handleChunk(&c, data)
}

func (d *dialect) handleChunk(c *chunk, data []byte) error {
	if !jsontok.IsNull(c.error) {
		return d.noteFailure(c.error, data)
	}
	if !jsontok.IsNull(c.usage) {
		if err := d.readUsage(c.usage); err != nil {
			return err
		}
	}
	if !jsontok.IsNull(c.feedback) {
		if err := d.readPromptFeedback(c.feedback); err != nil {
			return err
		}
	}
	if jsontok.IsNull(c.candidates) {
		return nil
	}
	n := 0
	return jsontok.Elements(c.candidates, func(value []byte) error {
		n++
		return d.readCandidate(value, n-1)
	})
}

// readCandidate reads the first candidate. We never ask for others, and a message
// can hold only one.
func (d *dialect) readCandidate(raw []byte, place int) error {
	index := place
	var content, finish []byte
	err := jsontok.Fields(raw, func(field, value []byte) error {
		switch string(camelCase(field)) {
		case "index":
			if i, ok := jsontok.Int(value); ok {
				index = i
			}
		case "content":
			content = value
		case "finishReason":
			finish = value
		}
		return nil
	})
	if err != nil || index != 0 {
		return err
	}
	if !jsontok.IsNull(content) {
		if err := d.readContent(content); err != nil {
			return err
		}
	}
	if !jsontok.IsNull(finish) {
		d.finish = string(bytes.Trim(finish, `"`))
	}
	return nil
}

func (d *dialect) readContent(raw []byte) error {
	return jsontok.Fields(raw, func(field, value []byte) error {
		if string(field) == "parts" && !jsontok.IsNull(value) {
			return jsontok.Elements(value, d.readPart)
		}
		return nil
	})
}

// noteFailure notes the Status object of an error chunk or error body.
func (d *dialect) noteFailure(value, data []byte) error {
	e := stream.ProviderError{Raw: bytes.Clone(data)}
	err := jsontok.Fields(value, func(field, v []byte) error {
		switch string(field) {
		case "status":
			e.Type = jsontok.String(v)
		case "code":
			e.Code = string(v)
		case "message":
			e.Message = jsontok.String(v)
		}
		return nil
	})
	d.asm.Fail(e)
	return err
}

// readPromptFeedback reads promptFeedback. A blockReason, however new, means that there
// will not be a candidate.
func (d *dialect) readPromptFeedback(raw []byte) error {
	return jsontok.Fields(raw, func(field, value []byte) error {
		if string(camelCase(field)) == "blockReason" && !jsontok.IsNull(value) {
			switch string(bytes.Trim(value, `"`)) {
			case "", "0", "BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED":
			default:
				d.blocked = true
			}
		}
		return nil
	})
}

// End implements stream.Dialect. Chunks may follow a finishReason, so that only
// the end of the bytes tells which one was the last.
func (d *dialect) End() (string, error) {
	err := d.closeText()
	if d.usage.known {
		d.asm.SetUsage(d.usage.totalUsage())
	}
	if err != nil {
		return "", err
	}
	if d.finish == "" {
		if d.blocked {
			d.asm.SetStop(transcript.StopContentFilter)
			return "", nil
		}
		return "no finishReason", nil
	}
	return "", d.setStopReason()
}

// setStopReason derives the stop reason. A turn with calls ends with STOP like any
// other.
func (d *dialect) setStopReason() error {
	s, ok := stopReasons[d.finish]
	if !ok {
		d.asm.SetStop(transcript.StopReason(d.finish))
		return d.asm.Anomaly(stream.RuleUnknownStop, "finishReason %q", d.finish)
	}
	if s == transcript.StopEndTurn && d.calls > 0 {
		s = transcript.StopToolUse
	}
	d.asm.SetStop(s)
	return nil
}

// stopReasons maps finishReason. The numbers are what
// "$alt=json;enum-encoding=int" sends; from 9 on the Developer API and Vertex
// disagree about them. CONTINUATION is missing on purpose: it wants a
// continuation token that nothing here keeps.
var stopReasons = map[string]transcript.StopReason{
	"STOP": transcript.StopEndTurn, "1": transcript.StopEndTurn,
	"MAX_TOKENS": transcript.StopMaxTokens, "2": transcript.StopMaxTokens,
	"SAFETY": transcript.StopContentFilter, "3": transcript.StopContentFilter,
	"RECITATION": transcript.StopContentFilter, "4": transcript.StopContentFilter,
	"OTHER": transcript.StopContentFilter, "5": transcript.StopContentFilter,
	"LANGUAGE": transcript.StopContentFilter, "6": transcript.StopContentFilter,
	"BLOCKLIST": transcript.StopContentFilter, "7": transcript.StopContentFilter,
	"PROHIBITED_CONTENT": transcript.StopContentFilter, "8": transcript.StopContentFilter,
	"SPII": transcript.StopContentFilter, "MODEL_ARMOR": transcript.StopContentFilter,
	"IMAGE_SAFETY": transcript.StopContentFilter, "IMAGE_PROHIBITED_CONTENT": transcript.StopContentFilter,
	"IMAGE_RECITATION": transcript.StopContentFilter, "IMAGE_OTHER": transcript.StopContentFilter,
	"NO_IMAGE":                  transcript.StopContentFilter,
	"MALFORMED_FUNCTION_CALL":   transcript.StopMalformedCall,
	"UNEXPECTED_TOOL_CALL":      transcript.StopUnexpectedCall,
	"TOO_MANY_TOOL_CALLS":       transcript.StopTooManyCalls,
	"MISSING_THOUGHT_SIGNATURE": transcript.StopMissingThought,
	"MALFORMED_RESPONSE":        transcript.StopMalformedAnswer,
}
