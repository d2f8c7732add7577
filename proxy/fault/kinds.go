package fault

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
