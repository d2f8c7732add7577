// Package inspector writes what a run or a check found as one HTML file that needs no
// network, and shows the same page while a run goes on.
//
// A [Builder] collects cases and makes a [Page] of them, which is plain data; [Write]
// writes it as HTML, [WriteJSON] as the document that the page holds:
//
//	b := inspector.NewBuilder(inspector.Options{Redactor: redactor})
//	for _, c := range cases {
//		b.Add(inspector.Observation{Name: c.Name, Evidence: c.Evidence, Results: c.Results})
//	}
//	err := inspector.Write(w, b.Page(inspector.RunHead(run)))
//
// [Feed] is an HTTP handler that shows a page which still grows.
//
// Bodies are stored in chunks, each once, because requests repeat what was sent before.
// Everything that goes into a page passes the redactor first. With Options.Share, no
// content goes into the page at all: only lengths and keyed hashes.
//
// The page treats all text as text: it never makes markup of what an agent or a provider
// sent, and its content security policy allows no connection, or only to the server it
// came from. The package reads no clock and no file.
package inspector

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"math"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/wires/wire"
)

// Redactor takes secrets out of what goes into a page and learns them on the way.
// Replacements have the length of what they replace, and doing it twice changes
// nothing.
type Redactor interface {
	Interaction(in cassette.Interaction) cassette.Interaction
	// Text is for everything that is neither a request nor a response: what an agent
	// printed, what a finding says.
	Text(text string) string
}

// Options say how a page is made. The zero value shows everything as it is.
type Options struct {
	// Redactor, if not nil, sees everything first.
	Redactor Redactor
	// Share puts hashes and lengths in the place of content.
	Share bool
	// Key is the key of these hashes. Nil: a random one, so that the hashes of two
	// pages cannot be compared, and content cannot be guessed by its hash.
	Key []byte
}

// Observation is one case as it ended, or one recording.
type Observation struct {
	Name, Scenario, Provider, Source, Ingress string
	// Verdict is that of Results where it is empty.
	Verdict    report.Verdict
	Reason     string // why there is no other verdict
	Took       time.Duration
	Evidence   *evidence.Evidence // nil where nothing was seen
	Results    []report.Result
	Deviations []string
	Hosts      []string
	Skipped    []evidence.Skip
}

// Builder makes a page, case by case. It is not safe for concurrent use.
type Builder struct {
	options  Options
	redactor *thoroughRedactor
	store    *chunkStore
	cases    []*Case
	packs    []Pack
	names    map[string]bool   // members of the providers' requests, for shared paths
	shown    map[string]string // names of cases, by what the caller calls them
	taken    map[string]bool   // these names
}

// NewBuilder returns an empty builder.
func NewBuilder(o Options) *Builder {
	if o.Share && len(o.Key) == 0 {
		o.Key = make([]byte, 32)
		_, _ = rand.Read(o.Key) // never fails, by its own contract
	}
	return &Builder{
		options:  o,
		redactor: &thoroughRedactor{next: o.Redactor, fragments: map[string]bool{}},
		store:    &chunkStore{known: map[[sha256.Size]byte]int{}},
		names:    knownMembers(), shown: map[string]string{}, taken: map[string]bool{},
	}
}

// Learn shows the redactor evidence that will be added. Call it for all of it before
// the first Add where the order of cases says nothing about who learnt a secret first.
func (b *Builder) Learn(ev *evidence.Evidence) { b.redactor.learnEvidence(ev) }

// Add adds a case, or replaces the one of its name. Its bodies are copied; the result is in the page, too, and the
// caller does not change it.
func (b *Builder) Add(o Observation) *Case {
	c := &Case{
		Name: b.shownName(o.Name), Scenario: o.Scenario, Provider: o.Provider, Source: o.Source, Ingress: o.Ingress,
		Verdict: cmp.Or(o.Verdict, verdictOf(o.Results)), Reason: b.quoteText(o.Reason), TookMS: o.Took.Milliseconds(),
	}
	if o.Evidence != nil {
		ev := b.redactor.cleanEvidence(o.Evidence)
		b.addEvidence(c, &ev)
	}
	for _, d := range o.Deviations {
		c.Deviations = append(c.Deviations, b.quoteText(d))
	}
	for _, h := range o.Hosts {
		c.Hosts = append(c.Hosts, b.redactor.cleanText(h))
	}
	for _, s := range o.Skipped {
		c.Skipped = append(c.Skipped, b.quoteText(s.What)+": "+s.Reason)
	}
	for _, r := range o.Results {
		c.Results = append(c.Results, b.newResult(r))
	}
	if i := slices.IndexFunc(b.cases, func(other *Case) bool { return other.Name == c.Name }); i >= 0 {
		b.cases[i] = c
	} else {
		b.cases = append(b.cases, c)
	}
	if pack, ok := b.store.takePack(); ok {
		b.packs = append(b.packs, pack)
	}
	return c
}

// Judge replaces the results of all cases by those of a finished report, which knows
// more: the policy, the baseline, other runs of a case. Cases that were not observed are
// added, those that were not run among them.
func (b *Builder) Judge(results []report.Result, cases []report.CaseSummary) {
	byName := map[string]*Case{}
	for _, c := range b.cases {
		c.Results = nil
		byName[c.Name] = c
	}
	named := func(name, provider string) *Case {
		name = b.shownName(name)
		if byName[name] == nil {
			byName[name] = &Case{Name: name, Provider: provider}
			b.cases = append(b.cases, byName[name])
		}
		return byName[name]
	}
	for _, r := range results {
		if r.Case != "" { // else a requirement that no case shows
			c := named(r.Case, r.Provider)
			c.Results = append(c.Results, b.newResult(r))
			var all []report.Verdict
			for _, r := range c.Results {
				all = append(all, r.Verdict)
			}
			c.Verdict = report.Worst(all...)
		}
	}
	for _, s := range cases {
		c := named(s.Name, s.Provider)
		c.Verdict, c.Source, c.Ingress, c.TookMS = s.Verdict, s.Source, s.Ingress, s.DurationMS
		if s.Reason != "" {
			c.Reason = b.redactor.cleanText(s.Reason)
		}
	}
}

// Page returns the page of all cases that were added, in the order of their names.
// It shares memory with the builder.
func (b *Builder) Page(head Head) Page {
	head.TookMS = max(head.TookMS, head.Took.Milliseconds())
	head.Subject.Name, head.Subject.Version = b.redactor.cleanText(head.Subject.Name),
		b.redactor.cleanText(head.Subject.Version)
	head.Unshown = slices.Clone(head.Unshown)
	for i, text := range head.Unshown {
		head.Unshown[i] = b.redactor.cleanText(text)
	}
	p := Page{Schema: Schema, Head: head, Cases: append([]*Case{}, b.cases...), Packs: slices.Clone(b.packs),
		Shared: b.options.Share}
	slices.SortStableFunc(p.Cases, func(a, b *Case) int { return cmp.Compare(a.Name, b.Name) })
	p.addCatalogue(head.Summary)
	return p
}

// addEvidence adds exchanges, processes and blocks. ev holds no secrets any more.
func (b *Builder) addEvidence(c *Case, ev *evidence.Evidence) {
	for _, p := range ev.Process {
		out := Process{Exit: p.ExitCode, Resumed: p.Resumed, Stdout: b.storeOutput(p.Stdout),
			Stderr: b.storeOutput(p.Stderr)}
		for _, arg := range p.Args {
			out.Args = append(out.Args, b.quoteText(arg))
		}
		c.Processes = append(c.Processes, out)
	}
	trace := check.Decode(ev)
	d := decoder{Builder: b, placements: map[int]check.Placement{}, earlier: map[int]*decoded{}}
	for _, p := range trace.Placements() {
		d.placements[p.Exchange] = p
	}
	for i := range ev.Exchanges {
		c.Exchanges = append(c.Exchanges, d.newExchange(&ev.Exchanges[i]))
	}
	c.Blocks = b.newBlocks(ev, trace)
}

func verdictOf(results []report.Result) report.Verdict {
	var all []report.Verdict
	for _, r := range results {
		all = append(all, r.Verdict)
	}
	return report.Worst(all...)
}

// stallAfter is how long a pause in a response must be to be shown.
const stallAfter = time.Second

// storeOutput is storeBytes for what a process printed; what printed nothing has none.
func (b *Builder) storeOutput(text []byte) *Body {
	if len(text) == 0 {
		return nil
	}
	return b.storeBytes(text)
}

// decoder makes exchanges of one case. It keeps the requests, for the comparison with
// those that continue them.
type decoder struct {
	*Builder
	placements map[int]check.Placement // by index of the exchange
	earlier    map[int]*decoded
}

type decoded struct {
	body    []byte
	request *wire.Request
}

func (d *decoder) newExchange(x *evidence.Exchange) Exchange {
	request := x.ReadRequest()
	reply := x.ReadReply()
	at := d.placements[x.Index]
	out := Exchange{
		Index: x.Index, Provider: x.Provider, Process: x.Process,
		Conversation: at.Conversation, Previous: at.Previous, Kind: string(at.Kind),
		Model: d.shownModel(x.Provider, request.Model), Method: x.Request.Method, URL: d.shownURL(x),
		RequestHeaders: d.newHeaders(x.Request.Header, d.quoteText), Request: d.storeBytes(x.Request.Body),
		Status: x.Response.Status, ResponseHeaders: d.newHeaders(x.Response.Header, lengthOf),
		Response: d.storeBytes(x.Response.Body),
		End:      x.Response.End, Outcome: reply.End.String(),
		Error:      d.quoteText(cmp.Or(reply.Err.Text("message"), reply.Err.Text())),
		Provenance: string(x.Provenance), Missed: x.Missed,
	}
	out.addTimes(x.Response.Chunks)
	out.Usage = wire.UsageOf(x.Provider, reply)
	if before := d.earlier[at.Previous]; before != nil && !request.Stateful {
		out.Prefix = comparePrefix(x.Provider, before, &decoded{x.Request.Body, request})
		if out.Prefix != nil {
			out.Prefix.Previous = at.Previous
		}
	}
	d.earlier[x.Index] = &decoded{x.Request.Body, request}
	return out
}

func (x *Exchange) addTimes(chunks []evidence.Chunk) {
	x.Pieces, x.FirstByteMS, x.LastByteMS = len(chunks), -1, -1
	if len(chunks) == 0 {
		return
	}
	x.FirstByteMS, x.LastByteMS = toMilliseconds(chunks[0].At), toMilliseconds(chunks[len(chunks)-1].At)
	for i := 1; i < len(chunks); i++ {
		if pause := chunks[i].At - chunks[i-1].At; pause >= stallAfter {
			x.Stalls = append(x.Stalls, Stall{AtMS: toMilliseconds(chunks[i-1].At), ForMS: toMilliseconds(pause)})
		}
	}
}

func toMilliseconds(d time.Duration) float64 { return math.Round(d.Seconds()*1e4) / 10 }
