package fault

import (
	"fmt"
	"net/http"
	"time"

	"github.com/meerkat-go/conformance/proxy/llm"
)

// Plan is a list of faults, read from a file by Parse. It does not change.
type Plan struct {
	Name string
	// Seed is the seed in the file, nil when it has none.
	Seed   *uint64
	Faults []Fault
}

// Fault is one entry of a plan: which replies it applies to, where, and what it
// does.
type Fault struct {
	Kind Kind
	Line int // in the plan's file

	// Interaction, Provider and Operation choose replies; -1 and "" choose all.
	Interaction int
	Provider    string
	Operation   llm.Operation
	// Nth chooses only the nth of those interactions, from 1, in the order in
	// which they are first requested; 0 chooses all.
	Nth int
	// Chance is the probability that each of them is changed. It depends only on
	// the seed and the interaction.
	Chance float64
	// Times is how many requests for one interaction are changed. Later ones are
	// answered as recorded.
	Times int

	Place Place

	For        time.Duration // how long a stall is, how far apart pings are
	Then       Then          // what follows a stall or an error event
	Status     int
	RetryAfter string
	Header     http.Header
	Message    string
	Text       string // the garbage itself
	Value      string // the wrong content type
	Count      int    // of pings
	By         int    // how many bytes too many are declared
	// Consume says whether a changed interaction is consumed; see Outcome. nil means: if
	// all of the reply was sent.
	Consume *bool
}

// Kind is what a fault does.
type Kind string

// The kinds of faults.
const (
	kindReset         Kind = "reset"          // TCP RST, RST_STREAM in HTTP/2
	kindClose         Kind = "close"          // the connection ends, the message does not
	kindTruncate      Kind = "truncate"       // the message ends cleanly and lacks its rest
	kindStall         Kind = "stall"          // nothing is sent for a while
	kindStatus        Kind = "status"         // an error in place of the reply
	kindErrorEvent    Kind = "error_event"    // the provider's error event in the stream
	kindGarbage       Kind = "garbage"        // an event that is not JSON
	kindDuplicate     Kind = "duplicate"      // the event before the place again
	kindReorder       Kind = "reorder"        // the events around the place swapped
	kindPingFlood     Kind = "ping_flood"     // many pings
	kindBadUTF8       Kind = "bad_utf8"       // bytes inside a text that are not valid UTF-8
	kindContentType   Kind = "content_type"   // a wrong Content-Type
	kindContentLength Kind = "content_length" // a wrong Content-Length
)

// Then is how a reply continues after a stall or an error event.
type Then string

// The values of Then.
const (
	thenContinue Then = "continue"
	thenReset    Then = "reset"
	thenClose    Then = "close"
	thenTruncate Then = "truncate"
)

// ending returns the ending of a Then, "" for none.
func (t Then) ending() End {
	switch t {
	case thenReset:
		return Reset
	case thenClose:
		return Close
	case thenTruncate:
		return EOF
	default:
		return ""
	}
}

// Place is where in a reply a fault applies.
type Place struct {
	At faultSpot
	N  int // of afterEvent, atByte
}

// faultSpot is a kind of place.
type faultSpot string

// The spots.
const (
	nowhere        faultSpot = ""
	beforeHeader   faultSpot = "before_header"
	atStart        faultSpot = "at_start"
	atByte         faultSpot = "at_byte"
	afterEvent     faultSpot = "after_event" // N events have been sent
	beforeTerminal faultSpot = "before_terminal"
	afterTerminal  faultSpot = "after_terminal"
)

// String returns the place as the plan's file names it.
func (p Place) String() string {
	if p.At == atByte || p.At == afterEvent {
		return fmt.Sprint(p.At, " ", p.N)
	}
	return string(p.At)
}

// String returns the fault in a few words: its kind and its place.
func (f Fault) String() string {
	text := string(f.Kind)
	if f.Kind == kindStatus {
		text = fmt.Sprint(text, " ", f.Status)
	}
	if f.Place.At != nowhere {
		text += " " + f.Place.String()
	}
	return text
}

// form says which keys an entry of one kind has.
type form struct {
	spots    []faultSpot // one of these is required, if there are any
	keys     []string    // in addition to commonKeys
	required []string
}

// The places a fault can have, by what it needs of them.
var (
	inBody   = []faultSpot{atStart, atByte, afterEvent, beforeTerminal, afterTerminal}
	anywhere = append([]faultSpot{beforeHeader}, inBody...)
	atEvents = []faultSpot{afterEvent, beforeTerminal, afterTerminal}
)

var forms = map[Kind]form{
	kindReset:         {spots: anywhere},
	kindClose:         {spots: anywhere},
	kindTruncate:      {spots: inBody},
	kindStall:         {spots: anywhere, keys: []string{"for", "then"}, required: []string{"for"}},
	kindStatus:        {keys: []string{"status", "retry_after", "headers", "message"}, required: []string{"status"}},
	kindErrorEvent:    {spots: inBody, keys: []string{"status", "message", "then"}},
	kindGarbage:       {spots: inBody, keys: []string{"text"}},
	kindDuplicate:     {spots: atEvents},
	kindReorder:       {spots: []faultSpot{afterEvent, beforeTerminal}},
	kindPingFlood:     {spots: inBody, keys: []string{"count", "every"}},
	kindBadUTF8:       {spots: []faultSpot{atStart, atByte, afterEvent, beforeTerminal}},
	kindContentType:   {keys: []string{"value"}},
	kindContentLength: {keys: []string{"by"}, required: []string{"by"}},
}

// commonKeys are the keys that every kind has in addition to its places.
var commonKeys = []string{"fault", "interaction", "provider", "operation", "nth", "chance", "times", "consume"}

// The values of keys that are absent.
const (
	defaultTimes = 1
	defaultPings = 100
	defaultValue = "text/html; charset=utf-8" // what gateways answer with
)
