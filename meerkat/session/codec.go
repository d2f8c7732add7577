package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/meerkat-go/conformance/meerkat/transcript"
)

// AppendRecord appends r as one line of JSON, the newline included:
//
//	{"record":"header","version":1,"id":…,"created_at":…}
//	{"record":"prefix","at":…,"provider":…,"model":…,"system":…,"tools":[…],"hash":…}
//	{"record":"run","at":…,"run_id":…}
//	{"record":"budget","at":…,"limits":{…}}
//	{"record":"metadata","at":…,"values":{"ticket":"42"}}
//	{"record":"message","at":…,"message":{…}}
//	{"record":"usage","at":…,"turn":1,"sent":1,"hash":…,"usage":{…}}
//	{"record":"ledger","at":…,"message":1,"call_id":…,"name":…,"status":"running"}
//	{"record":"compaction","at":…,"through":8,"summary":…,"kept":[0]}
//	{"record":"error","at":…,"run_id":…,"kind":…,"message":…}
//	{"record":"task","at":…,"run_id":…,"turns":2,…,"stop_reason":"end_turn"}
//	{"record":"refusal","at":…,"provider":…,"request":…,"status":400,"message":…,"repair":{…}}
//	{"record":"operation","at":…,"id":…,"state":"submitted","spec":{…}}
//	{"record":"checkpoint","at":…,"reason":"assistant"}
//
// Each line ends with a checksum of itself, "crc32c"; in a session the checksum of
// the line before it stands ahead of that, see [Chain]. Messages and tool
// definitions keep their bytes, see package transcript.
func AppendRecord(dst []byte, r Record) ([]byte, error) {
	return new(Chain).AppendRecord(dst, r)
}

// appendBody appends the line of r without its closing brace.
func appendBody(dst []byte, r Record) ([]byte, error) {
	var err error
	switch r := r.(type) {
	case MessageRecord:
		dst, err = appendMessageRecord(dst, r)
	case Prefix:
		dst, err = appendPrefix(dst, r)
	case Tool:
		dst, err = appendFlat(dst, r.recordKind(), newToolLine(r))
	case ErrorRecord:
		dst, err = appendFlat(dst, r.recordKind(), r.withValidUTF8())
	case Refusal:
		dst, err = appendFlat(dst, r.recordKind(), r.withValidUTF8())
	case Compaction:
		dst, err = appendFlat(dst, r.recordKind(), r.withValidUTF8())
	case Operation:
		dst, err = appendFlat(dst, r.recordKind(), r.withValidUTF8())
	case Unknown:
		return dst, fmt.Errorf("session: a record of kind %q can only be kept, not written", r.Kind)
	default:
		dst, err = appendFlat(dst, r.recordKind(), r)
	}
	if err != nil {
		return dst, fmt.Errorf("session: %s record: %w", r.recordKind(), err)
	}
	return dst[:len(dst)-1], nil
}

// appendFlat writes a struct with the record kind as its first member.
func appendFlat(dst []byte, kind string, v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	dst = append(dst, `{"record":"`+kind+`",`...)
	return append(dst, bytes.TrimSpace(buf.Bytes()[1:])...), nil
}

func appendMessageRecord(dst []byte, e MessageRecord) ([]byte, error) {
	dst = append(dst, `{"record":"message","at":"`...)
	dst = e.At.AppendFormat(dst, time.RFC3339Nano)
	dst, err := e.Message.AppendJSON(append(dst, `","message":`...))
	if err == nil && (e.Source != "" || len(e.Operations) > 0) {
		var origin []byte
		origin, err = json.Marshal(messageOrigin{e.Source, e.Operations})
		dst = append(append(dst, ','), origin[1:len(origin)-1]...)
	}
	return append(dst, '}'), err
}

// messageOrigin is what stands behind the message of a record. Older readers pass over
// it.
type messageOrigin struct {
	Source     Source `json:"source,omitempty"`
	Operations []ID   `json:"operations,omitempty"`
}

// prefixLine is a Prefix with its tools already encoded.
type prefixLine struct {
	At       time.Time         `json:"at"`
	Provider string            `json:"provider"`
	Model    string            `json:"model"`
	Effort   string            `json:"effort,omitempty"`
	System   string            `json:"system"`
	Tools    []json.RawMessage `json:"tools"`
	Hash     string            `json:"hash"`
}

func appendPrefix(dst []byte, p Prefix) ([]byte, error) {
	if !utf8.ValidString(p.System) {
		return dst, fmt.Errorf("the system prompt is not valid UTF-8; mend it first")
	}
	line := prefixLine{p.At, p.Provider, p.Model, p.Effort, p.System, make([]json.RawMessage, len(p.Tools)), p.Hash}
	for i := range p.Tools {
		var err error
		if line.Tools[i], err = p.Tools[i].AppendJSON(nil); err != nil {
			return dst, err
		}
	}
	return appendFlat(dst, p.recordKind(), line)
}

// scanMessageRecord reads a message record in exactly the form that AppendRecord
// writes. It takes a third of the time of a general decoder, and most records
// are messages. body is the line without its seal; ok is false for any other line.
func scanMessageRecord(body []byte) (e MessageRecord, ok bool) {
	rest, ok := bytes.CutPrefix(body, []byte(`{"record":"message","at":`))
	if !ok {
		return e, false
	}
	at, message, ok := bytes.Cut(rest, []byte(`,"message":`))
	if !ok || e.At.UnmarshalJSON(at) != nil || !bytes.HasPrefix(message, []byte("{")) {
		return e, false
	}
	return e, e.Message.UnmarshalJSON(message) == nil
}

// DecodeRecord reads one line, with or without its newline. A kind that this
// package does not know is an Unknown; a header of a newer version is a
// *VersionError, a prefix whose hash or a line whose checksum does not fit is
// an error.
func DecodeRecord(line []byte) (Record, error) {
	s := readSeal(line)
	r, err := decodeSealed(line, s)
	if err == nil && !s.fits() {
		err = errSum
	}
	return r, err
}

// decodeSealed reads a line whose seal is s and does not check the seal: a newer
// version is reported before what it may do otherwise.
func decodeSealed(line []byte, s seal) (Record, error) {
	if e, ok := scanMessageRecord(s.body); ok {
		return e, nil
	}
	var tag struct {
		Record string `json:"record"`
	}
	if err := json.Unmarshal(line, &tag); err != nil {
		return nil, err
	}
	return decodeKind(tag.Record, line)
}

func decodeKind(kind string, line []byte) (Record, error) {
	switch kind {
	case "":
		return nil, fmt.Errorf("not a record: no member \"record\"")
	case "header":
		return decodeHeader(line)
	case "prefix":
		return decodePrefix(line)
	case "message":
		return decodeMessageRecord(line)
	case "usage":
		return decodeFlat[Call](line)
	case "run":
		return decodeFlat[Run](line)
	case "ledger":
		var t toolLine
		if err := json.Unmarshal(line, &t); err != nil {
			return nil, err
		}
		if t.CallIDExact != nil {
			t.CallID = string(t.CallIDExact)
		}
		if t.NameExact != nil {
			t.Name = string(t.NameExact)
		}
		return t.Tool, nil
	case "error":
		return decodeFlat[ErrorRecord](line)
	case "task":
		return decodeFlat[RunEnd](line)
	case "compaction":
		return decodeFlat[Compaction](line)
	case "budget":
		return decodeFlat[Budget](line)
	case "metadata":
		return decodeFlat[Metadata](line)
	case "mark":
		return decodeFlat[Annotation](line)
	case "checkpoint":
		return decodeFlat[Checkpoint](line)
	case "refusal":
		return decodeFlat[Refusal](line)
	case "repair":
		return decodeFlat[Repair](line)
	case "operation":
		return decodeFlat[Operation](line)
	}
	return Unknown{Kind: kind}, nil
}

func decodeFlat[T Record](line []byte) (Record, error) {
	var r T
	err := json.Unmarshal(line, &r)
	return r, err
}

// toolLine is a Tool with the exact bytes of the provider's strings that JSON
// text cannot hold.
type toolLine struct {
	Tool
	CallIDExact []byte `json:"call_id_exact,omitempty"`
	NameExact   []byte `json:"name_exact,omitempty"`
}

func newToolLine(t Tool) toolLine {
	line := toolLine{Tool: t}
	if !utf8.ValidString(t.CallID) {
		line.CallIDExact = []byte(t.CallID)
	}
	if !utf8.ValidString(t.Name) {
		line.NameExact = []byte(t.Name)
	}
	return line
}

func decodeHeader(line []byte) (Record, error) {
	var h Header
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, err
	}
	if h.Version > Version {
		return nil, &VersionError{Have: h.Version}
	}
	if h.Version < 1 {
		return nil, fmt.Errorf("header without a version")
	}
	_, err := ParseID(string(h.ID))
	return h, err
}

func decodeMessageRecord(line []byte) (Record, error) {
	var e struct {
		At      time.Time           `json:"at"`
		Message *transcript.Message `json:"message"`
		messageOrigin
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, err
	}
	if e.Message == nil {
		return nil, fmt.Errorf("message record without a message")
	}
	return MessageRecord{e.At, *e.Message, e.Source, e.Operations}, nil
}

func decodePrefix(line []byte) (Record, error) {
	var p prefixLine
	if err := json.Unmarshal(line, &p); err != nil {
		return nil, err
	}
	out := Prefix{p.At, p.Provider, p.Model, p.Effort, p.System, make([]transcript.ToolDef, len(p.Tools)), p.Hash}
	for i := range p.Tools {
		if err := out.Tools[i].UnmarshalJSON(p.Tools[i]); err != nil {
			return nil, err
		}
	}
	hash, err := Digest(out.System, out.Tools, nil)
	if err == nil && hash != out.Hash {
		err = fmt.Errorf("the stored prompt and tools do not match their hash %s", out.Hash)
	}
	return out, err
}
