package inspector_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/meerkat-go/conformance/cassettes"
	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/schemas"
	"github.com/meerkat-go/conformance/specs"
)

// allRules returns all rules.
func allRules(t testing.TB) []report.Rule {
	t.Helper()
	all, err := specs.Requirements()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := report.Rules(all, check.All())
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// readRecordings returns the committed cassettes and an example with a finding.
func readRecordings(t testing.TB) []evidence.Recording {
	t.Helper()
	found := evidence.FindFS(cassettes.FS, "cassettes")
	example, err := evidence.Find("../../docs/examples/trimmed-signature.har")
	if err != nil {
		t.Fatal(err)
	}
	var list []evidence.Recording
	for _, f := range append(found, example...) {
		rec, err := f.Read()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rec)
	}
	return list
}

// pageOf makes the page of a check of recordings.
func pageOf(t testing.TB, o inspector.Options, list []evidence.Recording) inspector.Page {
	t.Helper()
	b := inspector.NewBuilder(o)
	var judged []report.Recording
	rules := allRules(t)
	for _, rec := range list {
		r := report.JudgeRecording(rules, rec)
		judged = append(judged, r)
		b.Add(inspector.Observation{Name: strings.TrimPrefix(rec.Path, "../../"), Provider: r.Provider,
			Verdict: r.Verdict, Evidence: &rec.Evidence, Results: r.Results(), Skipped: rec.Skipped})
	}
	return b.Page(inspector.CheckHead(report.NewChecked(report.Tool{Name: "conform"}, report.Policy{}, judged)))
}

func writePage(t testing.TB, p inspector.Page) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := inspector.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// newExchange is a call with a reply, at a nominal time.
func newExchange(index int, request, reply string) evidence.Exchange {
	return evidence.Exchange{
		Index: index, Provider: evidence.Anthropic, Process: 0,
		Request: evidence.Request{Method: "POST", URL: "https://api.anthropic.com/v1/messages",
			Header: http.Header{"Anthropic-Version": {"2023-06-01"}}, Body: []byte(request)},
		Response: evidence.Response{Status: 200, Header: http.Header{"Content-Type": {"application/json"}},
			Body: []byte(reply), End: "eof"},
	}
}

func TestPageIsOneSafeFile(t *testing.T) {
	hostile := "</script><script>alert(1)</script>\u2028 \xff\xfe <!-- "
	ev := evidence.Evidence{Case: "hostile",
		Exchanges: []evidence.Exchange{newExchange(0, `{"messages":[],"x":"`+hostile+`"}`, hostile)}}
	b := inspector.NewBuilder(inspector.Options{})
	b.Add(inspector.Observation{
		Name: hostile, Evidence: &ev, Deviations: []string{hostile},
		Results: []report.Result{{Requirement: "SIG-001", Check: "SIG-001/signature-bytes", Verdict: report.Fail,
			Findings: []report.Finding{{Verdict: report.Fail, Message: hostile}}}},
	})
	html := writePage(t, b.Page(inspector.Head{Kind: "run", Subject: report.Subject{Name: hostile}}))
	if n := bytes.Count(html, []byte("</script>")); n != 2 {
		t.Errorf("the page holds %d closing script tags, not 2", n)
	}
	if bytes.Contains(html, []byte("alert(1)</script>")) || bytes.Contains(html, []byte("\u2028")) ||
		bytes.Contains(html, []byte("\xff")) {
		t.Error("hostile text stands in the page as it is")
	}
	if !bytes.Contains(html, []byte("default-src 'none'")) || !bytes.Contains(html, []byte("connect-src 'none'")) {
		t.Error("the page has no policy that forbids connections")
	}
	page, err := inspector.Read(html)
	if err != nil {
		t.Fatal(err)
	}
	x := page.Cases[0].Exchanges[0]
	if got := string(page.Content(x.Response)); got != hostile {
		t.Errorf("the response came back as %q", got)
	}
}

func TestPageOfAllCassettesIsSmall(t *testing.T) {
	const limit = 5 << 20
	if size := len(writePage(t, pageOf(t, inspector.Options{}, readRecordings(t)))); size > limit {
		t.Errorf("the page has %d bytes, more than %d", size, limit)
	}
}

// Pages without content are kept in repositories, so they have to be small: what names
// and verdicts need, beside the scripts.
func TestSharedPageIsSmall(t *testing.T) {
	const limit = 220_000
	page := pageOf(t, inspector.Options{Share: true}, readRecordings(t))
	if size := len(writePage(t, page)); size > limit {
		t.Errorf("the shared page has %d bytes, more than %d", size, limit)
	}
	whole, short := len(writePage(t, page)), len(writePage(t, page.Condense()))
	if short > whole*9/10 {
		t.Errorf("the condensed page has %d bytes, the whole one %d", short, whole)
	}
}

func TestCondenseKeepsWhatWasFound(t *testing.T) {
	page := pageOf(t, inspector.Options{Share: true}, readRecordings(t))
	short := page.Condense()
	kept := 0
	for i, c := range short.Cases {
		hasFindings := c.Verdict != report.Pass
		for _, r := range c.Results {
			hasFindings = hasFindings || len(r.Findings) > 0
		}
		if want := page.Cases[i]; len(c.Results) != len(want.Results) ||
			hasFindings && len(c.Exchanges) != len(want.Exchanges) ||
			!hasFindings && len(c.Exchanges)+len(c.Blocks)+len(c.Processes) > 0 {
			t.Errorf("%s (%s): %d results, %d exchanges", c.Name, c.Verdict, len(c.Results), len(c.Exchanges))
		}
		kept += len(c.Exchanges)
	}
	if kept == 0 || len(short.Notices) != len(page.Notices)+1 {
		t.Errorf("%d exchanges are kept, the page says %q", kept, short.Notices)
	}
}

// Pages of the first release hold their document as plain JSON.
func TestReadTakesPlainPages(t *testing.T) {
	page := pageOf(t, inspector.Options{}, readRecordings(t)[:2])
	var document bytes.Buffer
	if err := inspector.WriteJSON(&document, page); err != nil {
		t.Fatal(err)
	}
	read, err := inspector.Read([]byte("<!doctype html><script type=\"application/json\" id=\"data\">" +
		document.String() + "</script>"))
	if err != nil || len(read.Cases) != 2 {
		t.Errorf("%d cases, %v", len(read.Cases), err)
	}
	for name, text := range map[string]string{"no base64": "?", "no gzip": "YWJj",
		"cut": "H4sIAAAAAAAC/6vmUlBQUCpOzkgtSk1VslKoVkrOzyvOz0lVslJQSs7PS8tMVqoFAN=="} {
		if _, err := inspector.Read([]byte("<!doctype html><script type=\"application/gzip\" id=\"data\">" + text +
			"</script>")); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBodiesAreStoredOnce holds that a conversation costs what was new in each request.
func TestBodiesAreStoredOnce(t *testing.T) {
	history := strings.Builder{}
	ev := evidence.Evidence{Case: "long"}
	bodies := 0
	for i := range 60 {
		fmt.Fprintf(&history,
			`{"role":"user","content":"%064d is the number that is said in round %d of this conversation; it is never said again %x"},`, i*7919, i, i*i*31)
		body := `{"messages":[` + strings.Repeat("x", 20000) + strings.TrimSuffix(history.String(), ",") + `]}`
		bodies += len(body)
		ev.Exchanges = append(ev.Exchanges, newExchange(i, body, "{}"))
	}
	b := inspector.NewBuilder(inspector.Options{})
	b.Add(inspector.Observation{Name: "long", Evidence: &ev})
	stored := 0
	for _, pack := range b.Page(inspector.Head{}).Packs {
		for _, size := range pack.Sizes {
			stored += size
		}
	}
	if stored > bodies/8 {
		t.Errorf("%d bytes of bodies take %d bytes of chunks", bodies, stored)
	}
}

const question = `{"model":"claude-opus-4-5","messages":[{"role":"user","content":"Read a.txt, please, and say what it says."}]}`

func TestRoundTripMarksTheFirstDifferentByte(t *testing.T) {
	reply := `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"Read it first.","signature":"EsYBCkYIDBgCKkA="},{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a.txt"}}],"stop_reason":"tool_use"}`
	back := func(signature, input string) string {
		return `{"model":"claude-opus-4-5","messages":[{"role":"user","content":"Read a.txt, please, and say what it says."},{"role":"assistant","content":[{"type":"thinking","thinking":"Read it first.","signature":"` + signature + `"},{"type":"tool_use","id":"toolu_1","name":"read","input":` + input + `}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"42"}]}]}`
	}
	for _, c := range []struct {
		name, request string
		states        [2]string // of the thinking and of the call
		at            int
	}{
		{"as emitted", back("EsYBCkYIDBgCKkA=", `{"path":"a.txt"}`), [2]string{"same", "same"}, 0},
		{"other spelling", back("EsYBCkYIDBgCKkA=", `{"path": "a.txt" }`), [2]string{"same", "respelled"}, 8},
		{"cut signature", back("EsYBCkYIDBgC", `{"path":"a.txt"}`), [2]string{"changed", "same"}, 12},
	} {
		ev := evidence.Evidence{Case: c.name, Exchanges: []evidence.Exchange{newExchange(0, question, reply),
			newExchange(1, c.request, `{"content":[],"stop_reason":"end_turn"}`)}}
		b := inspector.NewBuilder(inspector.Options{})
		blocks := b.Add(inspector.Observation{Name: c.name, Evidence: &ev}).Blocks
		if len(blocks) != 2 {
			t.Fatalf("%s: %d blocks", c.name, len(blocks))
		}
		for i, want := range c.states {
			got := blocks[i].Returns[0]
			if got.State != want {
				t.Errorf("%s: block %d came back %s, not %s", c.name, i, got.State, want)
			}
			if got.State != "same" && got.Changes[0].At != c.at {
				t.Errorf("%s: block %d differs at %d, not %d", c.name, i, got.Changes[0].At, c.at)
			}
		}
	}
}

func TestPrefixSaysWhereItBroke(t *testing.T) {
	request := func(system, messages string) string {
		return `{"model":"claude-opus-4-5","system":"` + system + `","messages":[` + messages + `]}`
	}
	first, answer := `{"role":"user","content":"A question about herons, long enough."}`,
		`{"role":"assistant","content":"An answer about herons, long enough."}`
	reply := `{"content":[{"type":"text","text":"An answer about herons, long enough."}],"stop_reason":"end_turn"}`
	for _, c := range []struct{ name, second, broke string }{
		{"grown", request("S", first+","+answer+`,{"role":"user","content":"More."}`), ""},
		{"a cache mark moved", request("S",
			`{"role":"user","content":"A question about herons, long enough.","cache_control":{"type":"ephemeral"}},`+
				answer+`,{"role":"user","content":"More."}`), ""},
		{"another system prompt", request("T", first+","+answer+`,{"role":"user","content":"More."}`), "system"},
	} {
		ev := evidence.Evidence{Case: c.name, Exchanges: []evidence.Exchange{newExchange(0, request("S", first), reply),
			newExchange(1, c.second, reply)}}
		b := inspector.NewBuilder(inspector.Options{})
		x := b.Add(inspector.Observation{Name: c.name, Evidence: &ev}).Exchanges[1]
		if x.Prefix == nil {
			t.Fatalf("%s: no prefix", c.name)
		}
		if x.Prefix.Broke != c.broke {
			t.Errorf("%s: broke at %q, not %q", c.name, x.Prefix.Broke, c.broke)
		}
	}
}

func TestTimesAndUsage(t *testing.T) {
	x := newExchange(0, question,
		`{"content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":90,"cache_creation_input_tokens":5,"output_tokens":7}}`)
	x.Response.Chunks = []evidence.Chunk{{At: 120 * time.Millisecond, Length: 1},
		{At: 2620 * time.Millisecond, Length: 1}}
	ev := evidence.Evidence{Exchanges: []evidence.Exchange{x}}
	got := inspector.NewBuilder(inspector.Options{}).Add(inspector.Observation{Name: "x", Evidence: &ev}).Exchanges[0]
	if got.FirstByteMS != 120 || len(got.Stalls) != 1 || got.Stalls[0] != (inspector.Stall{AtMS: 120, ForMS: 2500}) {
		t.Errorf("first byte %v, stalls %v", got.FirstByteMS, got.Stalls)
	}
	if want := (inspector.Usage{Input: 105, CacheRead: 90, CacheWrite: 5, Output: 7, Reasoning: -1}); *got.Usage != want {
		t.Errorf("usage %+v, not %+v", *got.Usage, want)
	}
}

// TestSharedPageHoldsNoContent looks in a shared page for every text of the input that
// is not the catalogue's own.
func TestSharedPageHoldsNoContent(t *testing.T) {
	list := readRecordings(t)
	page := pageOf(t, inspector.Options{Share: true, Key: []byte("k")}, list)
	page.Requirements, page.Rules = nil, nil // whose texts are ours
	document, err := json.Marshal(page)
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, rec := range list {
		for _, x := range rec.Evidence.Exchanges {
			for _, text := range append(textsIn(x.Request.Body), textsIn(x.Response.Body)...) {
				texts++
				if bytes.Contains(document, []byte(text)) {
					t.Errorf("%s: the shared page holds %.60q", rec.Path, text)
				}
			}
		}
	}
	if texts < 500 {
		t.Errorf("only %d texts were looked for", texts)
	}
	whole := pageOf(t, inspector.Options{}, list)
	for i, c := range page.Cases {
		if w := whole.Cases[i]; c.Verdict != w.Verdict || len(c.Exchanges) != len(w.Exchanges) ||
			len(c.Blocks) != len(w.Blocks) || len(c.Results) != len(w.Results) {
			t.Errorf("%s: the shared page has lost structure", c.Name)
		}
	}
}

// TestSharedPageNamesNoTenant asks for the address where it is public, and for none that names a customer.
func TestSharedPageNamesNoTenant(t *testing.T) {
	for address, isShown := range map[string]bool{
		"https://api.anthropic.com/v1/messages?beta=true":                               true,
		"https://contoso.services.ai.azure.com/anthropic/v1/messages":                   false,
		"https://us-east5-aiplatform.googleapis.com/v1/projects/contoso/publishers/x:y": false,
		"http://127.0.0.1:8080/v1/messages":                                             false,
	} {
		list := readRecordings(t)[:1]
		x := &list[0].Evidence.Exchanges[0]
		x.Provider, x.Request.URL = "anthropic", address
		document, err := json.Marshal(pageOf(t, inspector.Options{Share: true}, list))
		if err != nil {
			t.Fatal(err)
		}
		address, _, _ = strings.Cut(address, "?")
		if bytes.Contains(document, []byte(address)) != isShown || bytes.Contains(document, []byte("contoso")) {
			t.Errorf("%s: shown is not %v", address, isShown)
		}
	}
}

// textsIn returns the strings of a body that a person or a model may have written.
func textsIn(body []byte) (texts []string) {
	for line := range bytes.Lines(body) {
		line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data: "))
		var doc any
		if json.Unmarshal(line, &doc) == nil {
			collectTexts(doc, &texts)
		}
	}
	return texts
}

func collectTexts(doc any, texts *[]string) {
	switch v := doc.(type) {
	case string:
		isOurs := strings.HasPrefix(v, "claude-") || strings.HasPrefix(v, "gpt-") || strings.HasPrefix(v, "gemini-") ||
			strings.HasPrefix(v, "deepseek-")
		if len(v) >= 12 && !isOurs && strings.ContainsAny(v, " 0123456789") {
			*texts = append(*texts, v)
		}
	case []any:
		for _, e := range v {
			collectTexts(e, texts)
		}
	case map[string]any:
		for _, e := range v {
			collectTexts(e, texts)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(writePage(f, pageOf(f, inspector.Options{}, readRecordings(f)[:2])))
	f.Add([]byte(`{"schema":"conform.inspector.v1","kind":"run","cases":[null]}`))
	f.Add([]byte(`{"schema":"conform.inspector.v1","cases":[{"exchanges":[{"request":{"n":5,"c":[[0,9223372036854775807]]}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		page, err := inspector.Read(data)
		if err != nil {
			return
		}
		for _, c := range page.Cases {
			for _, x := range c.Exchanges {
				if got := page.Content(x.Request); x.Request != nil && x.Request.Chunks != nil &&
					len(got) != x.Request.Length {
					t.Errorf("a request has %d bytes, not %d", len(got), x.Request.Length)
				}
			}
		}
	})
}

// A page keeps all recordings, also those whose names a shared page makes equal.
func TestSharedNamesStayApart(t *testing.T) {
	builder := inspector.NewBuilder(inspector.Options{Share: true})
	for _, name := range []string{"/a/x.yaml", "/b/x.yaml", "/a/x.yaml"} {
		builder.Add(inspector.Observation{Name: name})
	}
	if page := builder.Page(inspector.Head{Kind: "check"}); len(page.Cases) != 2 || page.Cases[0].Name != "x.yaml" ||
		page.Cases[1].Name != "x.yaml (2)" {
		t.Errorf("%+v", page.Cases)
	}
}

// A site counts what is known as failed, keeps the run before as history, and shows text of others
// as text.
func TestSite(t *testing.T) {
	const hostile = `x"><script>alert(1)</script>` + "\x1b]0;t\x07"
	page := func(day int, verdict report.Verdict, name string) inspector.Page {
		b := inspector.NewBuilder(inspector.Options{Share: true})
		b.Add(inspector.Observation{Name: "loop/" + hostile, Results: []report.Result{
			{Requirement: "ORD-001", Check: "ORD-001/answered", Verdict: verdict,
				Findings: []report.Finding{{Check: "ORD-001/answered", Verdict: verdict}}},
			{Requirement: "ORD-002", Check: "ORD-002/" + hostile, Verdict: report.Pass}}})
		return b.Page(inspector.Head{Kind: "run", Subject: report.Subject{Name: name, Version: hostile},
			Started: time.Date(2026, 12, day, 0, 0, 0, 0, time.UTC)})
	}
	site := &inspector.Site{Schema: inspector.SiteSchema}
	for _, p := range []inspector.Page{page(1, report.Pass, "good"), page(1, report.Pass, hostile),
		page(2, report.KnownFail, hostile)} {
		if _, _, err := site.Put(p, []string{"javascript:alert(1)", "https://example.com/7"}); err != nil {
			t.Fatal(err)
		}
	}
	first := site.Agents[0]
	if broken, mended := first.Changes(); first.Name != hostile || first.Verdict != report.Fail ||
		len(first.History) != 1 || len(broken) != 1 || len(mended) != 0 {
		t.Errorf("%+v: %v, %v", first, broken, mended)
	}
	if err := schemas.Validate(schemas.Site, site.JSON()); err != nil {
		t.Error(err)
	}
	again, err := inspector.ReadSite(site.JSON())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := again.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"page": b.String(), "badge": string(first.Badge())} {
		if strings.Contains(text, "<script>alert") || strings.Contains(text, "\x1b") ||
			strings.Contains(text, `"javascript:`) {
			t.Errorf("%s: text of others is markup:\n%s", form, text)
		}
	}
	if !strings.Contains(b.String(), `new since 2026-12-01: ORD-001`) ||
		!strings.Contains(b.String(), "#/finding/loop") {
		t.Errorf("the page lacks what is new or the way to it:\n%s", b.String())
	}
	if _, _, err := site.Put(inspector.NewBuilder(inspector.Options{}).Page(inspector.Head{}), nil); err == nil {
		t.Error("a page with content is published")
	}
}

// A row of a site is a kind, a name and the wires: subjects of one name do not replace each other.
func TestSiteRows(t *testing.T) {
	site := &inspector.Site{Schema: inspector.SiteSchema}
	put := func(s report.Subject, only string) error {
		b := inspector.NewBuilder(inspector.Options{Share: true})
		b.Add(inspector.Observation{Name: "hello",
			Results: []report.Result{{Requirement: "SV-A7", Check: "SV-A7", Verdict: report.Fail}}})
		_, _, err := site.Put(b.Page(inspector.Head{Kind: "run", Subject: s, Only: only}), nil)
		return err
	}
	subjects := []report.Subject{
		{Name: "one", Kind: "command"}, {Name: "one", Kind: "server", Wire: "anthropic"},
		{Name: "one", Kind: "gateway", Wire: "anthropic"},
		{Name: "one", Kind: "gateway", Wire: "anthropic", UpstreamWire: "gemini"},
		{Name: "one", Kind: "gateway", Wire: "gemini", UpstreamWire: "anthropic"},
	}
	for range 2 { // the second time replaces
		for _, s := range subjects {
			if err := put(s, "some"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if site.Count() != "1 agent, 3 gateways, 1 server" {
		t.Error(site.Count())
	}
	if err := schemas.Validate(schemas.Site, site.JSON()); err != nil {
		t.Error(err)
	}
	again, err := inspector.ReadSite(site.JSON())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := again.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h2>Agents</h2>", "<h2>Servers</h2>", "Anthropic Messages → Gemini generateContent",
		"some cases only", `data-area="SV-A"`,
		"agents/gateway-gemini-anthropic-one.html#/matrix?verdict=all&amp;q=SV-A", "<code>SV-A7</code>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, b.String())
		}
	}
	if err := put(report.Subject{Name: "gateway-anthropic-one", Kind: "command"}, ""); err == nil ||
		!strings.Contains(err.Error(), "give it another name") {
		t.Errorf("an agent has the files of a gateway: %v", err)
	}
	old := strings.ReplaceAll(string(site.JSON()), `"kind": "agent",`, "")
	if again, err := inspector.ReadSite([]byte(old)); err != nil || again.Count() != site.Count() {
		t.Errorf("a site of the first release: %v", err)
	}
}
