package inspector

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meerkat-go/conformance/conform/report"
)

// Bounds of a feed.
const (
	// maxFollowers is how many browsers may follow one page.
	maxFollowers = 16
	// maxDeltas is how many cases are kept for browsers that are behind. One that is
	// further behind loads the page again.
	maxDeltas = 256
	// writeTimeout is how long a browser may take to read one event.
	writeTimeout = 20 * time.Second
)

// Feed serves a page that still grows: the page itself and, as server-sent events, what
// is added to it. It is safe for concurrent use. Adding never waits for a browser.
type Feed struct {
	mu      sync.Mutex
	builder *Builder
	fixed   *Page // instead of builder, where nothing is added
	head    Head
	packs   int // of the builder that were sent in deltas
	// revision counts the deltas; deltas holds the last ones.
	revision int
	deltas   []delta
	// grown is closed and replaced with each delta and at the end.
	grown     chan struct{}
	end       []byte // the last event, once the report is finished
	followers atomic.Int32
}

// delta is one case, as an event for browsers.
type delta struct {
	revision int
	data     []byte
}

// deltaJSON is the form of a delta.
type deltaJSON struct {
	Revision     int             `json:"revision"`
	Summary      *report.Summary `json:"summary,omitempty"`
	Case         *Case           `json:"case"`
	Requirements []Requirement   `json:"requirements,omitempty"`
	Rules        map[string]Rule `json:"rules,omitempty"`
	Packs        []Pack          `json:"packs,omitempty"`
}

// endJSON is the form of the last event: what the finished report knows more.
type endJSON struct {
	Head
	Requirements []Requirement   `json:"requirements"`
	Rules        map[string]Rule `json:"rules,omitempty"`
	Cases        []endedCase     `json:"cases"`
}

type endedCase struct {
	Name    string         `json:"name"`
	Verdict report.Verdict `json:"verdict"`
	Results []Result       `json:"results"`
}

// NewFeed serves what b has and what is added through the feed from now on. The builder
// then belongs to the feed.
func NewFeed(b *Builder, head Head) *Feed {
	return &Feed{builder: b, head: head, packs: len(b.packs), grown: make(chan struct{})}
}

// FixedFeed serves a page that does not grow.
func FixedFeed(p Page) *Feed {
	p.Live = false
	return &Feed{fixed: &p, end: []byte("{}"), grown: make(chan struct{})}
}

// Add adds a case, or replaces the one of its name, and tells the browsers.
func (f *Feed) Add(o Observation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.builder.Add(o)
	page := Page{Cases: []*Case{c}}
	page.addCatalogue(nil)
	f.revision++
	data := encodeDocument(deltaJSON{f.revision, f.head.Summary, c, page.Requirements, page.Rules,
		f.builder.packs[f.packs:]})
	f.packs = len(f.builder.packs)
	f.deltas = append(f.deltas, delta{f.revision, data})
	f.deltas = f.deltas[max(0, len(f.deltas)-maxDeltas):]
	f.wakeFollowers()
}

// Finish takes over the head and the results of a finished report. Browsers get both
// and follow no more.
func (f *Feed) Finish(head Head, results []report.Result, cases []report.CaseSummary) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.builder.Judge(results, cases)
	f.head = head
	page := f.builder.Page(head)
	end := endJSON{Head: page.Head, Requirements: page.Requirements, Rules: page.Rules}
	for _, c := range page.Cases {
		end.Cases = append(end.Cases, endedCase{c.Name, c.Verdict, c.Results})
	}
	f.end = encodeDocument(end)
	f.wakeFollowers()
}

// Refresh replaces the head of a page that goes on.
func (f *Feed) Refresh(head Head) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.head = head
}

// Page returns the page as it is now.
func (f *Feed) Page() Page {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.currentPage()
}

// currentPage is called with mu held.
func (f *Feed) currentPage() Page {
	if f.fixed != nil {
		return *f.fixed
	}
	return f.builder.Page(f.head)
}

// wakeFollowers is called with mu held.
func (f *Feed) wakeFollowers() {
	close(f.grown)
	f.grown = make(chan struct{})
}

// ServeHTTP serves the page at "", its document at "data.json" and its growth at
// "events". The caller has checked who asks.
func (f *Feed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "", "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'")
		_ = writeHTML(w, f.livePage(), "'self'") // a browser that has gone needs no answer
	case "/data.json":
		w.Header().Set("Content-Type", "application/json")
		_ = WriteJSON(w, f.livePage()) // a browser that has gone needs no answer
	case "/events":
		f.serveEvents(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *Feed) livePage() Page {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.currentPage()
	p.Live, p.Revision = f.end == nil, f.revision
	return p
}

// serveEvents sends what came after the revision that the browser has.
func (f *Feed) serveEvents(w http.ResponseWriter, r *http.Request) {
	defer f.followers.Add(-1)
	if f.followers.Add(1) > maxFollowers {
		http.Error(w, "too many browsers follow this page; close one", http.StatusServiceUnavailable)
		return
	}
	from := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))
	after, _ := strconv.Atoi(from) // what is not a number is 0: everything
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	sender := eventSender{w, http.NewResponseController(w)}
	if sender.sendEvent("hello", 0, []byte("{}")) != nil {
		return
	}
	for {
		news := f.newsAfter(after)
		if news.isBehind {
			_ = sender.sendEvent("reload", after, []byte("{}"))
			return
		}
		for _, d := range news.deltas {
			if sender.sendEvent("case", d.revision, d.data) != nil {
				return
			}
			after = d.revision
		}
		if news.end != nil {
			_ = sender.sendEvent("end", after, news.end)
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-news.grown:
		}
	}
}

// news is what a browser does not have yet.
type news struct {
	deltas   []delta
	end      []byte          // nil while the page goes on
	grown    <-chan struct{} // closed when there is more
	isBehind bool            // too much has passed: the page has to be loaded again
}

func (f *Feed) newsAfter(revision int) news {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := news{end: f.end, grown: f.grown, isBehind: revision > f.revision ||
		len(f.deltas) > 0 && f.deltas[0].revision > revision+1}
	if i := slices.IndexFunc(f.deltas, func(d delta) bool { return d.revision > revision }); i >= 0 {
		n.deltas = slices.Clone(f.deltas[i:])
	}
	return n
}

// eventSender writes server-sent events and gives up on a browser that does not read.
type eventSender struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s eventSender) sendEvent(name string, id int, data []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer has one
	text := slices.Concat([]byte("event: "+name+"\nid: "+strconv.Itoa(id)+"\ndata: "), data, []byte("\n\n"))
	if _, err := s.w.Write(text); err != nil {
		return err
	}
	return s.control.Flush()
}
