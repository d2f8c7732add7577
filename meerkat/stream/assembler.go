package stream

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/meerkat/internal/jsontok"
	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// Assembler builds one Reply from the blocks of a wire format. Blocks are
// addressed by their wire index, stand in the order in which they were opened,
// may be open at the same time and are never sorted or merged. Provider
// dialects drive it, from one goroutine.
//
// Methods that meet a departure from the grammar return an *AnomalyError in
// strict mode; in lenient mode they record it, report an event and go on.
// Departures that cost nothing are only noted, in either mode.
type Assembler struct {
	opts  Options
	slots []slot
	byKey map[int]int // wire index → slot
	key   int         // the key last looked up, and its slot
	last  int
	open  int
	spare [][]byte // buffers of completed blocks
	texts stringPool
	reply Reply

	failure *ProviderError
	// invalidNoted: bytes that are not valid UTF-8 were noted.
	invalidNoted bool

	event  int
	offset int64
}

// slot is one block under way or complete.
type slot struct {
	block   transcript.Block
	full    [][]byte  // what deltas brought before buf, of large blocks
	buf     []byte    // the text or the arguments that deltas brought
	accepts EventKind // the only kind of delta that belongs here
	open    bool
	// reported: a delta that an opaque block does not take was reported.
	reported bool
}

// Rules that the assembler and the parser name; dialects add their own.
const (
	RuleOrphanedDelta   = "orphaned_delta"
	RuleDuplicateStart  = "duplicate_start"
	RuleUnknownComplete = "unknown_complete"
	RuleInvalidArgs     = "invalid_args"
	RuleUnknownEvent    = "unknown_event"
	RuleUnknownBlock    = "unknown_block"
	RuleUnknownDelta    = "unknown_delta"
	RuleUnknownStop     = "unknown_stop_reason"
	RuleMalformedEvent  = "malformed_event"
	RuleEventAfterEnd   = "event_after_end"
	RuleUnterminated    = "unterminated_event"
	RuleInvalidUTF8     = "invalid_utf8"
)

// NewAssembler returns an empty Assembler.
func NewAssembler(opts Options) *Assembler {
	return &Assembler{opts: opts, byKey: map[int]int{}, key: -1}
}

// Open begins the block with wire index key. What b already holds of text or
// arguments counts; deltas add to its text and replace its arguments.
func (a *Assembler) Open(key int, b transcript.Block) error {
	if i, ok := a.byKey[key]; ok {
		if err := a.Anomaly(
			RuleDuplicateStart, "block %d starts again as %s", key, b.Type,
		); err != nil || a.slots[i].open {
			return err
		}
	}
	s := slot{block: b, open: true, accepts: acceptedBy(b.Type), buf: a.takeBuffer()}
	s.buf = append(s.buf, b.Text...)
	a.key, a.last = key, len(a.slots)
	a.byKey[key] = a.last
	a.addSlot(s)
	a.open++
	a.emitEvent(Event{Kind: EventBlockStart, Index: a.last, Block: &a.slots[a.last].block})
	return nil
}

// addSlot puts a block at the end. Slots are large: doubling copies them less often
// than append alone would.
func (a *Assembler) addSlot(s slot) {
	if len(a.slots) == cap(a.slots) {
		a.slots = slices.Grow(a.slots, len(a.slots)+8)
	}
	a.slots = append(a.slots, s)
}

// maxBuffer is about how much of a block stands in one piece of memory while it arrives.
const maxBuffer = 1 << 20

// takeBuffer returns an empty buffer, one that a completed block has left if there
// is one: blocks get copies of their exact size.
func (a *Assembler) takeBuffer() []byte {
	if n := len(a.spare); n > 0 {
		buf := a.spare[n-1]
		a.spare = a.spare[:n-1]
		return buf
	}
	return make([]byte, 0, 1024)
}

// acceptedBy says which deltas belong to a block: server tools, which are
// opaque, stream their input as tools do.
func acceptedBy(t transcript.BlockType) EventKind {
	switch t {
	case transcript.BlockText:
		return EventTextDelta
	case transcript.BlockReasoning:
		return EventReasoningDelta
	default: // calls, and server tools, which are opaque
		return EventToolCallDelta
	}
}

// openSlot returns the open block with wire index key, or nil.
func (a *Assembler) openSlot(key int) *slot {
	if key != a.key || len(a.slots) == 0 {
		i, ok := a.byKey[key]
		if !ok {
			return nil
		}
		a.key, a.last = key, i
	}
	if s := &a.slots[a.last]; s.open {
		return s
	}
	return nil
}

// Append adds a delta to block key. kind is one of the three delta kinds; lit
// is the inside of a JSON string, still escaped, so that its text is written
// exactly once: into the block.
func (a *Assembler) Append(key int, kind EventKind, lit []byte) error {
	s := a.openSlot(key)
	if s == nil || s.accepts != kind {
		return a.handleMisplaced(s, key, kind, lit)
	}
	s.makeRoom(len(lit))
	n := len(s.buf)
	s.buf = jsontok.AppendUnescaped(s.buf, lit)
	if a.opts.OnEvent != nil && s.block.Type != transcript.BlockOpaque {
		a.emitEvent(Event{Kind: kind, Index: a.last, Delta: s.buf[deltaStart(s.buf, n):]})
	}
	return nil
}

// makeRoom makes room for n bytes in buf. A small buffer doubles: append alone grows by
// a quarter. A large one is set aside, except for the bytes that [deltaStart] may need, so
// that a large block is never copied to make room for more of it.
func (s *slot) makeRoom(n int) {
	used := len(s.buf)
	switch {
	case cap(s.buf)-used >= n:
	case used < maxBuffer/2:
		s.buf = slices.Grow(s.buf, used+n)
	default:
		end := used - 3
		s.full = append(s.full, s.buf[:end:end])
		s.buf = append(make([]byte, 0, max(maxBuffer, n+3)), s.buf[end:]...)
	}
}

// joinText returns the text of a large block.
func (s *slot) joinText() string {
	pieces := slices.Concat(s.full, [][]byte{s.buf})
	size := 0
	for _, p := range pieces {
		size += len(p)
	}
	var b strings.Builder
	b.Grow(size)
	for _, p := range pieces {
		b.Write(p)
	}
	return b.String()
}

// deltaStart returns where the delta that was appended at n begins. It is
// earlier than n when the delta's first surrogate joined the one before it.
func deltaStart(buf []byte, n int) int {
	if n >= 3 && n < len(buf) && buf[n-3] >= 0xF0 && buf[n]&0xC0 == 0x80 {
		return n - 3
	}
	return n
}

// handleMisplaced handles a delta that its block does not take. The dialect keeps
// an opaque block whole, so that nothing is lost there.
func (a *Assembler) handleMisplaced(s *slot, key int, kind EventKind, lit []byte) error {
	if s == nil || s.block.Type != transcript.BlockOpaque {
		return a.handleOrphan(key, kind, lit)
	}
	if !s.reported {
		s.reported = true
		a.Note(RuleUnknownDelta, "%s for a block of the unknown type %q", kind, s.block.Kind)
	}
	return nil
}

// handleOrphan handles a delta that no open block accepts. Lenient mode opens a block
// for it rather than lose it, unless the index is taken.
func (a *Assembler) handleOrphan(key int, kind EventKind, lit []byte) error {
	if err := a.Anomaly(RuleOrphanedDelta, "%s for block %d, which is not open for it", kind, key); err != nil {
		return err
	}
	if _, taken := a.byKey[key]; taken {
		return nil
	}
	t := map[EventKind]transcript.BlockType{
		EventTextDelta: transcript.BlockText, EventReasoningDelta: transcript.BlockReasoning,
		EventToolCallDelta: transcript.BlockToolUse,
	}[kind]
	if err := a.Open(key, transcript.Block{Type: t}); err != nil {
		return err
	}
	return a.Append(key, kind, lit)
}

// Block returns the block with wire index key while it is open, to look at or
// to add to; its text and arguments are only there once it is complete.
func (a *Assembler) Block(key int) (*transcript.Block, bool) {
	if s := a.openSlot(key); s != nil {
		return &s.block, true
	}
	return nil, false
}

// Complete ends block key. edit, which may be nil, gets the block with its text
// and arguments in place and may add to it or replace it.
func (a *Assembler) Complete(key int, edit func(*transcript.Block)) error {
	s := a.openSlot(key)
	if s == nil {
		return a.Anomaly(RuleUnknownComplete, "block %d ends but is not open", key)
	}
	i := a.last
	a.fillBlock(s)
	if edit != nil {
		edit(&s.block)
	}
	a.spare = append(a.spare, s.buf[:0])
	s.open, s.full, s.buf = false, nil, nil
	a.open--
	a.checkArgs(&s.block)
	a.emitEvent(Event{Kind: EventBlockComplete, Index: i, Block: &s.block})
	return nil
}

// Whole adds a block that arrived complete and has no wire index of its own.
func (a *Assembler) Whole(b transcript.Block) {
	i := len(a.slots)
	a.addSlot(slot{block: b})
	s := &a.slots[i]
	a.emitEvent(Event{Kind: EventBlockStart, Index: i, Block: &s.block})
	a.checkArgs(&s.block)
	a.emitEvent(Event{Kind: EventBlockComplete, Index: i, Block: &s.block})
}

// fillBlock moves what the deltas brought into the block. No arguments at all mean
// an empty object; an opaque block may have none.
func (a *Assembler) fillBlock(s *slot) {
	if s.accepts != EventToolCallDelta {
		if len(s.full) > 0 {
			s.block.Text = s.joinText()
		} else {
			s.block.Text = a.texts.copyString(s.buf)
		}
		return
	}
	switch {
	case len(s.full) > 0:
		s.block.Args = bytes.Join(append(s.full, s.buf), nil)
	case len(s.buf) > 0:
		s.block.Args = bytes.Clone(s.buf)
	}
	if len(s.block.Args) == 0 && s.block.Type == transcript.BlockToolUse {
		s.block.Args = []byte("{}")
	}
}

// checkArgs notes arguments that are not JSON. The call is kept as it came:
// the agent answers it with an error result.
func (a *Assembler) checkArgs(b *transcript.Block) {
	if len(b.Args) > 0 && !jsontok.Valid(b.Args) {
		a.Note(RuleInvalidArgs, "the arguments of %q (%s) are not JSON", b.Name, b.ID)
	}
}

// Has reports whether key was ever opened.
func (a *Assembler) Has(key int) bool {
	_, ok := a.byKey[key]
	return ok
}

// Len returns how many blocks were started, Pending how many are still open.
func (a *Assembler) Len() int { return len(a.slots) }

// Pending returns how many blocks are still open.
func (a *Assembler) Pending() int { return a.open }

// At says where the following calls stand in the stream.
func (a *Assembler) At(event int, offset int64) { a.event, a.offset = event, offset }

// Anomaly records a departure from the grammar, or returns it as an error in
// strict mode.
func (a *Assembler) Anomaly(rule, format string, args ...any) error {
	an := Anomaly{Rule: rule, Detail: fmt.Sprintf(format, args...), Event: a.event, Offset: a.offset}
	if !a.opts.Lenient {
		return &AnomalyError{Anomaly: an}
	}
	a.recordAnomaly(an)
	return nil
}

// Note records something odd that costs nothing: strict mode lets it pass.
func (a *Assembler) Note(rule, format string, args ...any) {
	a.recordAnomaly(Anomaly{
		Rule: rule, Detail: fmt.Sprintf(format, args...), Event: a.event, Offset: a.offset, Harmless: true,
	})
}

// NoteUnknownBlock notes a block of a type that the dialect does not know.
func (a *Assembler) NoteUnknownBlock(kind string) {
	a.Note(RuleUnknownBlock, "block %q is kept, but not understood", kind)
}

// makeValid returns data as the standard of server-sent events says it is to be
// decoded: U+FFFD for what is not valid UTF-8. No provider accepts such bytes in a
// request, so a session that kept them could never be resumed.
func (a *Assembler) makeValid(data []byte) []byte {
	if utf8.Valid(data) {
		return data
	}
	if !a.invalidNoted {
		a.invalidNoted = true
		a.Note(RuleInvalidUTF8, "bytes of the reply are not valid UTF-8 and stand as U+FFFD")
	}
	return bytes.ToValidUTF8(data, []byte("\uFFFD"))
}

func (a *Assembler) recordAnomaly(an Anomaly) {
	a.reply.Anomalies = append(a.reply.Anomalies, an)
	a.emitEvent(Event{Kind: EventAnomaly, Anomaly: an})
}

func (a *Assembler) emitEvent(e Event) {
	if a.opts.OnEvent != nil {
		a.opts.OnEvent(e)
	}
}
