package fault

// form is what a kind of fault can be given.
type form struct {
	spots    []Spot
	keys     []string // beside those that every kind has
	required []string
}

// The places a fault can have, by what it needs of them.
var (
	inBody   = []Spot{AtStart, AtByte, AfterEvent, BeforeTerminal, AfterTerminal}
	anywhere = append([]Spot{BeforeHeader}, inBody...)
	atEvents = []Spot{AfterEvent, BeforeTerminal, AfterTerminal}
)

var forms = map[Kind]form{
	KindReset:         {spots: anywhere},
	KindClose:         {spots: anywhere},
	KindTruncate:      {spots: inBody},
	KindStall:         {spots: anywhere, keys: []string{"for", "then"}, required: []string{"for"}},
	KindStatus:        {keys: []string{"status", "retry_after", "headers", "message"}, required: []string{"status"}},
	KindErrorEvent:    {spots: inBody, keys: []string{"status", "message", "then"}},
	KindGarbage:       {spots: inBody, keys: []string{"text"}},
	KindDuplicate:     {spots: atEvents},
	KindReorder:       {spots: []Spot{AfterEvent, BeforeTerminal}},
	KindPingFlood:     {spots: inBody, keys: []string{"count", "every"}},
	KindBadUTF8:       {spots: []Spot{AtStart, AtByte, AfterEvent, BeforeTerminal}},
	KindContentType:   {keys: []string{"value"}},
	KindContentLength: {keys: []string{"by"}, required: []string{"by"}},
}

// The keys that every kind has, beside its places.
var commonKeys = []string{"fault", "interaction", "provider", "operation", "nth", "chance", "times", "consume"}

// What a plan that does not say gets.
const (
	defaultTimes = 1
	defaultPings = 100
	defaultValue = "text/html; charset=utf-8" // what gateways answer with
)
