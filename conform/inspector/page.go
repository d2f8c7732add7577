package inspector

import (
	"time"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Schema names the document that a page holds.
const Schema = "conform.inspector.v1"

// Page is everything that the HTML shows. It is plain data; make it with a [Builder].
type Page struct {
	Schema string `json:"schema"`
	Head
	// Areas are the names of the areas of requirements.
	Areas map[string]string `json:"areas,omitempty"`
	// Requirements are those that a result names, in the order of the catalogue.
	Requirements []Requirement `json:"requirements"`
	// Rules are the providers' rules that findings cite, by id.
	Rules map[string]Rule `json:"rules,omitempty"`
	Cases []*Case         `json:"cases"`
	// Packs hold the bodies: chunks are numbered through all packs.
	Packs []Pack `json:"packs,omitempty"`
	// Shared is set where hashes stand in the place of content.
	Shared bool `json:"shared,omitempty"`
	// Live is set in a page that a server goes on with.
	Live bool `json:"live,omitempty"`
	// Revision is how often a live page has grown.
	Revision int `json:"revision,omitempty"`
}

// Head is what a page says of the whole. Everything but Kind may be left empty.
type Head struct {
	// Kind is "run" for an agent that was run, "check" for recorded traffic.
	Kind     string          `json:"kind"`
	Tool     report.Tool     `json:"tool"`
	Subject  report.Subject  `json:"subject"`
	Set      string          `json:"set,omitempty"`
	Sources  []string        `json:"sources,omitempty"`
	Ingress  []string        `json:"ingress,omitempty"`
	Started  time.Time       `json:"started,omitzero"`
	Took     time.Duration   `json:"-"`
	TookMS   int64           `json:"took_ms,omitempty"`
	Policy   report.Policy   `json:"policy"`
	Summary  *report.Summary `json:"summary,omitempty"` // nil while the run goes on
	Calls    *report.Calls   `json:"calls,omitempty"`
	Notices  []string        `json:"notices,omitempty"`
	Unshown  []string        `json:"unshown,omitempty"`  // what was not run or not seen, and why
	Expected int             `json:"expected,omitempty"` // cases to come in all, for a live page
}

// Requirement is a row of the matrix.
type Requirement struct {
	ID          string   `json:"id"`
	Area        string   `json:"area"`
	Title       string   `json:"title"`
	Consequence string   `json:"consequence,omitempty"`
	Text        string   `json:"text,omitempty"`
	Why         string   `json:"why,omitempty"`
	Fix         string   `json:"fix,omitempty"`
	Sources     []Source `json:"sources,omitempty"`
}

// Source is where a requirement comes from. URL is empty or begins with https://.
type Source struct {
	URL     string `json:"url,omitempty"`
	Label   string `json:"label"`
	Section string `json:"section,omitempty"`
}

// Rule is a rule of a provider, from the wire rules.
type Rule struct {
	Section string   `json:"section"`
	Cells   []string `json:"cells"` // "column: text"
}

// Case is one case of a run, or one recording.
type Case struct {
	Name       string         `json:"name"`
	Scenario   string         `json:"scenario,omitempty"`
	Provider   string         `json:"provider,omitempty"`
	Source     string         `json:"source,omitempty"`
	Ingress    string         `json:"ingress,omitempty"`
	Verdict    report.Verdict `json:"verdict"`
	Reason     string         `json:"reason,omitempty"`
	TookMS     int64          `json:"took_ms,omitempty"`
	Deviations []string       `json:"deviations,omitempty"`
	Hosts      []string       `json:"hosts,omitempty"` // asked for and not a provider's
	Isolation  string         `json:"isolation,omitempty"`
	Results    []Result       `json:"results,omitempty"`
	Processes  []Process      `json:"processes,omitempty"`
	Exchanges  []Exchange     `json:"exchanges,omitempty"`
	// Blocks are what the provider emitted and a later request sent back, or should
	// have.
	Blocks []Block `json:"blocks,omitempty"`
	// Skipped are exchanges that were not judged.
	Skipped []string `json:"skipped,omitempty"`
}

// Result is the verdict of one check.
type Result struct {
	Check    string           `json:"check"`
	Verdict  report.Verdict   `json:"verdict"`
	Observed int              `json:"observed,omitempty"`
	OfSource bool             `json:"of_source,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Findings []report.Finding `json:"findings,omitempty"`
}

// Process is one run of the agent.
type Process struct {
	Args    []string `json:"args,omitempty"`
	Exit    int      `json:"exit"` // -1: unknown
	Resumed bool     `json:"resumed,omitempty"`
	Stdout  *Body    `json:"stdout,omitempty"`
	Stderr  *Body    `json:"stderr,omitempty"`
}

// Exchange is one request and its response.
type Exchange struct {
	Index    int    `json:"index"`
	Provider string `json:"provider"`
	// Process is the ordinal of the process, -1 when unknown. Conversation is -1 for
	// requests beside one, Previous the exchange that this one continues, or -1.
	Process      int    `json:"process"`
	Conversation int    `json:"conversation"`
	Previous     int    `json:"previous"`
	Kind         string `json:"kind"`
	Model        string `json:"model,omitempty"`
	Method       string `json:"method"`
	URL          string `json:"url"`

	RequestHeaders  []Header `json:"request_headers,omitempty"`
	Request         *Body    `json:"request,omitempty"`
	Status          int      `json:"status"`
	ResponseHeaders []Header `json:"response_headers,omitempty"`
	Response        *Body    `json:"response,omitempty"`
	// End is how the connection ended: eof, reset, client_abort or h2:CODE. Outcome is
	// how the reply ended: complete, cut, failed, refused, pending, absent.
	End        string `json:"end,omitempty"`
	Outcome    string `json:"outcome"`
	Error      string `json:"error,omitempty"` // the provider's words
	Provenance string `json:"provenance,omitempty"`
	Missed     bool   `json:"missed,omitempty"`

	// Times are in milliseconds behind the response's headers, -1 when unknown.
	FirstByteMS float64 `json:"first_byte_ms"`
	LastByteMS  float64 `json:"last_byte_ms"`
	Pieces      int     `json:"pieces,omitempty"`
	Stalls      []Stall `json:"stalls,omitempty"`

	Usage  *Usage  `json:"usage,omitempty"`
	Cost   string  `json:"cost,omitempty"`
	Prefix *Prefix `json:"prefix,omitempty"`
}

// Header is one header with its values joined.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Stall is a pause in a response: no byte came for ForMS after AtMS.
type Stall struct {
	AtMS  float64 `json:"at_ms"`
	ForMS float64 `json:"for_ms"`
}

// Usage is what the provider counted.
type Usage = wire.Usage

// Prefix compares a request with the one it continues.
type Prefix struct {
	Previous int `json:"previous"`
	// Common is how many bytes both bodies have in common from their start, Was and Is
	// how many they have.
	Common int `json:"common"`
	Was    int `json:"was"`
	Is     int `json:"is"`
	// Parts are the request's parts in the order in which the provider reads them.
	Parts []Part `json:"parts"`
	// Broke is the first part that is not what it was, "" when the request only grew.
	Broke string `json:"broke,omitempty"`
}

// Part is a run of parts with the same state.
type Part struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
	// State is same, changed (differs from what stood there), moved (follows a
	// changed part) or new.
	State string `json:"state"`
}

// Block is something that the provider emitted, and what later requests made of it.
type Block struct {
	Exchange int    `json:"exchange"`
	Event    int    `json:"event"`
	Offset   int    `json:"offset"`
	What     string `json:"what"`
	Type     string `json:"type,omitempty"`
	Name     string `json:"name,omitempty"`
	// Fields are those that have a value.
	Fields  []Field  `json:"fields"`
	Returns []Return `json:"returns"`
}

// Field is one value of a block.
type Field struct {
	Name  string `json:"name"`
	Value *Body  `json:"value"`
}

// Return is what one request made of a block.
type Return struct {
	Exchange int    `json:"exchange"`
	Offset   int    `json:"offset"` // -1 when it is missing
	Path     string `json:"path,omitempty"`
	// State is the worst of the changes: same, respelled, changed or missing.
	State   string   `json:"state"`
	Changes []Change `json:"changes,omitempty"`
}

// Change is a field that came back with other bytes.
type Change struct {
	Field string `json:"field"`
	// State is respelled where the value is the same to the provider, else changed.
	State string `json:"state"`
	// At is the first byte that differs.
	At    int   `json:"at"`
	Value *Body `json:"value"`
}

// Body is a text or bytes, by the chunks that make it up.
type Body struct {
	Length int `json:"n"`
	// Chunks are runs of chunks: the first and how many. They are nil in a shared page.
	Chunks [][2]int `json:"c,omitempty"`
	// Hash is that of the content, in a shared page.
	Hash string `json:"h,omitempty"`
}

// Pack is a number of chunks, compressed with gzip.
type Pack struct {
	Sizes []int  `json:"sizes"` // of the chunks, in bytes
	Data  []byte `json:"data"`
}
