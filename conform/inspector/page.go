package inspector

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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
	Only     string          `json:"only,omitempty"` // which cases the run had, "" for all
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

// RunHead is the head of a page about a run that has ended.
func RunHead(r *report.Run) Head {
	summary := r.Summary
	h := Head{
		Kind: "run", Tool: r.Tool, Subject: r.Subject, Set: r.Set.Name, Only: r.Selection(), Sources: r.Source,
		Ingress: r.Ingress,
		Started: r.Started, Took: time.Duration(r.DurationMS) * time.Millisecond, Policy: r.Policy, Summary: &summary,
		Calls:   r.Calls,
		Unshown: r.Unshown(),
	}
	if r.Guard != "" {
		h.addNotice("A guard ended the run early: %s.", r.Guard)
	}
	if r.Isolation != nil && !r.Isolation.Enforced {
		h.addNotice("The agent was not isolated: %s", r.Isolation.Reason)
	}
	for _, host := range r.Hosts {
		h.addNotice("The agent tried to reach %s (%d times). %s", host.Name, host.Attempts, host.Note)
	}
	if len(summary.Coverage.Missing) > 0 {
		h.addNotice("Required and not seen: %s.", strings.Join(summary.Coverage.Missing, ", "))
	}
	return h
}

// CheckHead is the head of a page about recorded traffic.
func CheckHead(c *report.Checked) Head {
	summary := c.Summary
	client, calls := c.Traffic()
	h := Head{Kind: "check", Tool: c.Tool, Policy: c.Policy, Summary: &summary, Calls: &calls}
	h.Subject.Name = client
	if n := len(c.PassedOver); n > 0 {
		h.addNotice("%d files were passed over: they are not recordings.", n)
	}
	return h
}

func (h *Head) addNotice(format string, args ...any) {
	h.Notices = append(h.Notices, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

//go:embed web
var web embed.FS

// The parts of the page in the order in which they are put together. The scripts share
// one scope.
var (
	styleFiles  = []string{"theme.css", "layout.css", "views.css"}
	scriptFiles = []string{
		"data.js", "dom.js", "route.js", "list.js", "filter.js", "overview.js", "matrix.js", "lists.js", "case.js",
		"exchange.js", "octets.js", "trip.js", "finding.js", "keys.js", "live.js", "main.js",
	}
)

// Write writes p as one HTML file that loads nothing.
func Write(w io.Writer, p Page) error { return writeHTML(w, p, "'none'") }

// writeHTML writes the page. connect is what its script may connect to, as a source of
// a content security policy.
func writeHTML(w io.Writer, p Page, connect string) error {
	// JSON in gzip in base64, because names and verdicts repeat so much that a tenth of the bytes is left.
	data := base64.StdEncoding.EncodeToString(compressData(encodeDocument(p)))
	style, script := joinFiles(styleFiles), joinFiles(scriptFiles)
	policy := strings.Join([]string{
		"default-src 'none'", "style-src " + sourceHash(style), "script-src " + sourceHash(script),
		"connect-src " + connect, "base-uri 'none'", "form-action 'none'",
	}, "; ")
	_, err := strings.NewReplacer(
		"{{policy}}", policy, "{{title}}", html.EscapeString(p.windowTitle()),
		"{{style}}", style, "{{script}}", script, "{{data}}", data,
	).WriteString(w, joinFiles([]string{"index.html"}))
	return err
}

// windowTitle is what the window of a browser is called.
func (p Page) windowTitle() string {
	name := strings.TrimSpace(p.Subject.Name + " " + p.Subject.Version)
	if name == "" {
		name = "recorded traffic"
	}
	return strings.Map(printableRune, fmt.Sprintf("%s: %s", name, p.state()))
}

// state is the verdict of a page, or says that it goes on.
func (p Page) state() string {
	if p.Summary == nil {
		return "running"
	}
	return string(p.Summary.Verdict)
}

// printableRune drops what a window does not show.
func printableRune(r rune) rune {
	if !unicode.IsPrint(r) || r == utf8.RuneError {
		return -1
	}
	return r
}

// WriteJSON writes the document that the page shows, schema conform.inspector.v1.
func WriteJSON(w io.Writer, p Page) error {
	_, err := w.Write(append(encodeDocument(p), '\n'))
	return err
}

// encodeDocument encodes v so that it may stand in a script element: no "<", ">", "&",
// U+2028 or U+2029 is left as it is. Bytes that are not UTF-8 become U+FFFD; bodies are
// not text and keep theirs.
func encodeDocument(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // a page holds plain data
	}
	return data
}

func joinFiles(names []string) string {
	var all strings.Builder
	for _, name := range names {
		text, err := web.ReadFile("web/" + name)
		if err != nil {
			panic(err) // the files are embedded
		}
		all.Write(text)
	}
	return all.String()
}

// sourceHash allows exactly one style or script.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
