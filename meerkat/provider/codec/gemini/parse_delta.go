package gemini

import "github.com/meerkat-go/conformance/meerkat/internal/jsontok"

// fastChunkReader is what one forward scan of a chunk found: the same as the
// general path finds by walking the object level by level. It takes chunks with
// a single candidate, in camel case.
type fastChunkReader struct {
	c      jsontok.Cursor
	parts  []fastPart
	usage  counts
	id     []byte
	model  []byte
	finish []byte
	known  bool // a member that says something was seen
}

type fastPart struct {
	members
	raw []byte
}

// fastChunk scans a chunk. It answers false, and nothing has happened, when the
// chunk has anything that it does not expect: then the general path reads it.
// Else apply follows.
func (d *dialect) fastChunk(data []byte) bool {
	d.fast = fastChunkReader{c: jsontok.Cursor{Src: data}, parts: d.fast.parts[:0]}
	return d.fast.readObject(d.fast.chunkMember) && d.fast.known && d.fast.c.End()
}

// applyFastChunk does what the scan found.
func (d *dialect) applyFastChunk() error {
	f := &d.fast
	if f.id != nil {
		d.asm.SetID(f.id)
	}
	if f.model != nil {
		d.asm.SetModel(f.model)
	}
	if f.usage.known {
		d.usage = f.usage
	}
	for i := range f.parts {
		if err := d.addPart(&f.parts[i].members, f.parts[i].raw); err != nil {
			return err
		}
	}
	if f.finish != nil {
		d.finish = string(f.finish)
	}
	return nil
}

// readObject reads an object. member reads the value of one member and returns a
// bit for its name; a name that comes twice is for the general path.
func (f *fastChunkReader) readObject(member func(key []byte) (bit int, ok bool)) bool {
	if !f.c.Byte('{') {
		return false
	}
	if f.c.Byte('}') {
		return true
	}
	for seen := 0; ; {
		key, ok := f.c.Key()
		if !ok {
			return false
		}
		bit, ok := member(key)
		if !ok || seen&bit != 0 {
			return false
		}
		if seen |= bit; !f.c.Byte(',') {
			return f.c.Byte('}')
		}
	}
}

func (f *fastChunkReader) chunkMember(key []byte) (bit int, ok bool) {
	if string(key) == "createTime" {
		return 0, f.c.Skip()
	}
	f.known = true
	switch string(key) {
	case "candidates":
		return 1, f.c.Byte('[') && f.readObject(f.candidateMember) && f.c.Byte(']')
	case "usageMetadata":
		return 2, f.readObject(f.usageMember)
	case "modelVersion":
		f.model, ok = f.c.Plain()
		return 4, ok
	case "responseId":
		f.id, ok = f.c.Plain()
		return 8, ok
	}
	return 0, false
}

func (f *fastChunkReader) candidateMember(key []byte) (bit int, ok bool) {
	switch string(key) {
	case "content":
		return 1, f.readObject(f.contentMember)
	case "index":
		n, ok := f.c.Int()
		return 2, ok && n == 0
	case "finishReason":
		f.finish, ok = f.c.Plain()
		return 4, ok
	case "safetyRatings", "citationMetadata", "groundingMetadata", "urlContextMetadata", "avgLogprobs", "finishMessage":
		return 0, f.c.Skip()
	}
	return 0, false
}

func (f *fastChunkReader) contentMember(key []byte) (bit int, ok bool) {
	switch string(key) {
	case "parts":
		return 1, f.partList()
	case "role":
		return 0, f.c.Skip()
	}
	return 0, false
}

func (f *fastChunkReader) partList() bool {
	if !f.c.Byte('[') {
		return false
	}
	for {
		f.c.Peek()
		start := f.c.Pos()
		f.parts = append(f.parts, fastPart{})
		if !f.readObject(f.partMember) {
			return false
		}
		f.parts[len(f.parts)-1].raw = f.c.Since(start)
		if !f.c.Byte(',') {
			return f.c.Byte(']')
		}
	}
}

func (f *fastChunkReader) partMember(key []byte) (bit int, ok bool) {
	m := &f.parts[len(f.parts)-1].members
	switch string(key) {
	case "text":
		m.text, ok = f.readValue()
		return 1, ok && m.text[0] == '"'
	case "thought":
		m.thought = true
		return 2, f.c.Peek() == 't' && f.c.Skip()
	case "thoughtSignature":
		m.signature, ok = f.readValue()
		return 4, ok
	case "functionCall":
		m.call, ok = f.readValue()
		return 8, ok
	case "executableCode", "codeExecutionResult", "inlineData", "toolCall", "toolResponse":
		if m.data == nil {
			m.data = key
		}
		return 0, f.c.Skip()
	}
	return 0, false
}

// readValue returns the bytes of the next value, of which there is at least one.
func (f *fastChunkReader) readValue() ([]byte, bool) {
	f.c.Peek()
	start := f.c.Pos()
	ok := f.c.Skip()
	return f.c.Since(start), ok
}

func (f *fastChunkReader) usageMember(key []byte) (bit int, ok bool) {
	if !isCount(key) {
		return 0, f.c.Skip()
	}
	n, ok := f.c.Int()
	f.usage.setCount(key, n)
	return 0, ok
}
