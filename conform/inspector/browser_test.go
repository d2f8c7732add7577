package inspector_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/meerkat-go/conformance/conform/inspector"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/specs"
	_ "github.com/meerkat-go/conformance/wires/all"
)

// tab is a page in headless Chromium. It fails the test for whatever the page complains
// about or asks the network for.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	trouble  []string
	requests []string
}

// browserTimeout bounds a test in the browser, which shares its machine with others.
const browserTimeout = 90 * time.Second

// findBrowser skips the test where there is no Chromium.
func findBrowser(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no browser is started")
	}
	if browserPath() == "" {
		t.Skip("no Chromium here; install it with: make browser")
	}
}

// browserPath returns the path of Chromium, "" where there is none.
func browserPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// startBrowser returns the context of the browser that all tests share. It ends with the
// tests' process.
var startBrowser = sync.OnceValue(func() context.Context {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browserPath()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(browserTimeout),
	)
	ctx, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopBrowser = chromedp.NewContext(ctx)
	_ = chromedp.Do(ctx) // starts it; the first test says why it does not start
	return ctx
})

var stopBrowser = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	stopBrowser()
	os.Exit(code)
}

// openTab opens an address in a tab of its own.
func openTab(t *testing.T, address string, width, height int) *tab {
	t.Helper()
	findBrowser(t)
	ctx, cancel := chromedp.NewContext(startBrowser())
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.noteEvent); err != nil {
		t.Fatalf("%s: cannot be started: %v", browserPath(), err)
	}
	_, errNetwork := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	_, errLog := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	_, errRuntime := chromedp.Call(ctx, runtime.Enable, cdp.Empty{})
	if err := errors.Join(errNetwork, errLog, errRuntime); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(int64(width), int64(height)), chromedp.Navigate(address))
	b.waitFor(`document.querySelector("#main").children.length > 0 && !document.querySelector("#main > .empty")`)
	return b
}

func (b *tab) noteEvent(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		b.trouble = append(b.trouble, fmt.Sprint(e.ExceptionDetails.Text, " ", exceptionText(e.ExceptionDetails)))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.trouble = append(b.trouble, fmt.Sprintf("console: %s", e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			b.trouble = append(b.trouble, e.Entry.Text+" "+e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

func exceptionText(d *runtime.ExceptionDetails) string {
	if d.Exception == nil {
		return ""
	}
	return d.Exception.Description
}

// expectQuiet fails for complaints of the page, and for requests to anything that does
// not begin with one of prefixes.
func (b *tab) expectQuiet(prefixes ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.trouble {
		b.t.Errorf("the page complains: %s", line)
	}
	for _, address := range b.requests {
		isKnown := false
		for _, prefix := range prefixes {
			isKnown = isKnown || strings.HasPrefix(address, prefix)
		}
		if !isKnown {
			b.t.Errorf("the page asks for %s", address)
		}
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("browser: %v", err)
	}
}

// eval returns the value of an expression in the page; it waits for a promise.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("browser: %s: %v", expression, err)
	}
	return value
}

// waitFor waits until an expression in the page is true.
func (b *tab) waitFor(expression string) {
	b.t.Helper()
	isReached := eval[bool](b, `new Promise((resolve) => {
		const end = performance.now() + 30000;
		const look = () => {
			if (`+expression+`) resolve(true);
			else if (performance.now() > end) resolve(false);
			else setTimeout(look, 15);
		};
		look();
	})`)
	if !isReached {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.t.Fatalf("the page never reached %s\nit shows: %s\n%v", expression,
			eval[string](b, `document.querySelector("#main").innerText.slice(0, 500)`), b.trouble)
	}
}

// visit follows a permalink.
func (b *tab) visit(hash string) {
	b.t.Helper()
	quoted, _ := json.Marshal(hash)
	eval[string](b, "location.hash = "+string(quoted))
	b.waitFor("document.querySelector('#main').dataset.route === " + string(quoted))
}

// waitForView waits until the view whose address begins so is shown.
func (b *tab) waitForView(prefix string) {
	b.t.Helper()
	b.waitFor(fmt.Sprintf(`document.querySelector("#main").dataset.route?.startsWith(%q)`, prefix))
}

func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(key))
	}
}

func (b *tab) text() string { return eval[string](b, `document.querySelector("#main").innerText`) }

// savePage writes a page to a file and returns its address.
func savePage(t *testing.T, p inspector.Page) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, writePage(t, p), 0o600); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

const trimmed = "docs/examples/trimmed-signature.har"

func TestBrowserOpensFromDisk(t *testing.T) {
	b := openTab(t, savePage(t, pageOf(t, inspector.Options{}, readRecordings(t))), 1280, 800)
	for hash, want := range map[string]string{
		"#/": "1 cause, the worst first", "#/matrix": "SIG-001", "#/findings": "SIG-001/signature-bytes",
		"#/cases":               "cut-stream.yaml",
		"#/requirement/SIG-001": "github.com/anthropics", "#/nowhere": "leads to nothing",
		"#/case/" + url.PathEscape("cassettes/anthropic/resume/resume-tool-loop.yaml"): "Round trips",
	} {
		b.visit(hash)
		b.waitFor(fmt.Sprintf(`document.querySelector("#main").innerText.includes(%q)`, want))
	}
	b.visit("#/case/" + url.PathEscape(trimmed) + "/exchange/1")
	b.waitFor(`document.querySelectorAll(".octets .item").length > 5`)
	b.expectQuiet("file:")
}

// The causes of one verdict stand in the order of what they lead to.
func TestBrowserShowsTheWorstConsequenceFirst(t *testing.T) {
	builder, rule := inspector.NewBuilder(inspector.Options{}), allRules(t)[0]
	var results []report.Result
	for _, consequence := range []specs.Consequence{specs.Wrong, specs.Refused, specs.Unsafe, specs.Crash} {
		results = append(results, report.Result{Requirement: rule.Requirement.ID, Check: rule.Check.ID,
			Verdict: report.Fail, Findings: []report.Finding{{Requirement: rule.Requirement.ID, Check: rule.Check.ID,
				Verdict: report.Fail, Consequence: consequence, Message: "block is " + string(consequence)}}})
	}
	builder.Add(inspector.Observation{Name: "case", Provider: "anthropic", Results: results})
	b := openTab(t, savePage(t, builder.Page(inspector.Head{Kind: "run"})), 1280, 800)
	b.visit("#/")
	b.waitFor(`document.querySelectorAll(".cause h3 a").length === 4`)
	const heads = `[...document.querySelectorAll(".cause h3 a")].map((e) => e.innerText.split(" ").pop()).join()`
	if got := eval[string](b, heads); got != "crash,refused,unsafe,wrong" {
		t.Errorf("the causes stand in the order %q", got)
	}
}

func TestBrowserShowsTheDifferentByte(t *testing.T) {
	b := openTab(t, savePage(t, pageOf(t, inspector.Options{}, readRecordings(t))), 1280, 900)
	b.visit("#/finding/" + url.PathEscape(trimmed) + "/" + url.PathEscape("SIG-001/signature-bytes") + "/0")
	b.waitFor(`document.querySelectorAll(".pair .hex mark").length > 0`)
	if got := eval[string](b, `document.querySelector(".pair .bytes mark").textContent`); got != "h" {
		t.Errorf("the marked byte is %q, not the first one that was cut off", got)
	}
	if got := b.text(); !strings.Contains(got, "first different byte at 420") ||
		!strings.Contains(got, "ends at byte 420") {
		t.Errorf("the page does not say where the values differ:\n%s", got)
	}
	if got := eval[string](b, `document.querySelector(".chain a[href^='https:']").rel`); got != "noreferrer noopener" {
		t.Errorf("a link to a source has rel=%q", got)
	}
	b.do(chromedp.Click(".chain .step:nth-child(2) a"))
	b.waitFor(`document.querySelector(".octets .item.here mark")`)
	if got := eval[string](b, `document.querySelector(".octets .item.here").innerText`); !strings.Contains(got, "signature") {
		t.Errorf("the link to the byte leads to %q", got)
	}
	b.visit("#/case/" + url.PathEscape(trimmed))
	b.waitFor(`document.querySelector(".stop")`)
	const marked = `[...document.querySelectorAll(".stop")].filter((e) => e.querySelector(".sign.v-fail")).map((e) => e.innerText.split(" ")[0]).join()`
	if got := eval[string](b, marked); got != "#1" {
		t.Errorf("the case marks the exchanges %q", got)
	}
	b.expectQuiet("file:")
}

// manyFindings is a page with n findings in 50 cases.
func manyFindings(t *testing.T, n int) inspector.Page {
	t.Helper()
	builder := inspector.NewBuilder(inspector.Options{})
	rules := allRules(t)
	for k := range 50 {
		var results []report.Result
		for i := range n / 50 {
			rule := rules[i%len(rules)]
			finding := report.Finding{Requirement: rule.Requirement.ID, Verdict: report.Fail, Check: rule.Check.ID,
				Message: fmt.Sprintf("finding %d of case %d", i, k)}
			if i%3 == 0 {
				finding.Verdict = report.Warn
			}
			results = append(results, report.Result{Requirement: rule.Requirement.ID, Check: rule.Check.ID,
				Verdict: finding.Verdict, Findings: []report.Finding{finding}})
		}
		builder.Add(inspector.Observation{Name: fmt.Sprintf("case-%02d/%s", k, []string{"anthropic", "openai",
			"gemini"}[k%3]), Provider: []string{"anthropic", "openai", "gemini"}[k%3], Results: results})
	}
	return builder.Page(inspector.Head{Kind: "run", Subject: report.Subject{Name: "a very wrong agent"}})
}

// TestBrowserDrawsTenThousandFindings counts what is drawn, because a time would depend
// on the machine; -v prints the time.
func TestBrowserDrawsTenThousandFindings(t *testing.T) {
	b := openTab(t, savePage(t, manyFindings(t, 10000))+"#/findings", 1280, 800)
	ready := eval[float64](b, `performance.getEntriesByType("navigation")[0].loadEventEnd`)
	t.Logf("10,000 findings: the page is ready after %.0f ms", ready)
	rows := func() int { return eval[int](b, `document.querySelectorAll(".item").length`) }
	if n := rows(); n == 0 || n > 60 {
		t.Errorf("%d rows are drawn", n)
	}
	b.press(kb.End)
	b.waitFor(`[...document.querySelectorAll(".item.active")].some((e) => e.getAttribute("aria-posinset") === "10000")`)
	if n := rows(); n == 0 || n > 60 {
		t.Errorf("%d rows are drawn at the end of the list", n)
	}
	b.visit("#/matrix")
	b.waitFor(`document.querySelectorAll(".cell").length > 100`)
	if n := eval[int](b, `document.querySelectorAll(".cell").length`); n > 2500 {
		t.Errorf("%d cells are drawn", n)
	}
	b.expectQuiet("file:")
}

func TestBrowserFilters(t *testing.T) {
	b := openTab(t, savePage(t, manyFindings(t, 300))+"#/findings", 1280, 800)
	shown := func() string { return eval[string](b, `document.querySelector(".filters .end").textContent`) }
	if got := shown(); got != "300 findings" {
		t.Fatalf("without a filter: %q", got)
	}
	b.do(chromedp.Click(`.chip[data-verdict="warn"]`))
	b.waitForView("#/findings?verdict=warn")
	if got := shown(); got != "100 of 300 findings" {
		t.Errorf("warnings only: %q", got)
	}
	eval[bool](b,
		`(() => { const s = document.querySelector("select[name=provider]"); s.value = "gemini"; return s.dispatchEvent(new Event("change")); })()`)
	b.waitForView("#/findings?verdict=warn&provider=gemini")
	if got := shown(); got != "32 of 300 findings" {
		t.Errorf("of gemini: %q", got)
	}
	b.press("/")
	b.waitFor(`document.activeElement.classList.contains("search")`)
	eval[string](b, `document.activeElement.value = ""`) // the browser types the key itself, which no person's does
	b.press("c", "a", "s", "e", "-", "0", "2")
	b.waitForView("#/findings?verdict=warn&provider=gemini&q=case-02")
	if got := shown(); got != "2 of 300 findings" {
		t.Errorf("of one case: %q", got)
	}
	b.do(chromedp.Reload())
	b.waitFor(`document.querySelector(".filters .end")`)
	if got := shown(); got != "2 of 300 findings" {
		t.Errorf("after a reload: %q", got)
	}
	b.expectQuiet("file:")
}

// TestBrowserShowsAllFindings: the overview counts the findings that follow from others, too, and its link shows them.
func TestBrowserShowsAllFindings(t *testing.T) {
	p := manyFindings(t, 100)
	p.Cases[0].Results[1].Findings[0].Cause = p.Cases[0].Results[0].Check + "#0"
	b := openTab(t, savePage(t, p)+"#/findings", 1280, 800)
	shown := func() string { return eval[string](b, `document.querySelector(".filters .end").textContent`) }
	if got := shown(); got != "99 of 100 findings, 1 follow-up" {
		t.Errorf("without a filter: %q", got)
	}
	b.visit("#/")
	eval[bool](b,
		`([...document.querySelectorAll("main a")].find((a) => a.textContent.startsWith("All 100 findings")).click(), true)`)
	b.waitFor(`document.querySelector(".filters .end")`)
	if got := shown(); got != "100 findings" {
		t.Errorf("all findings: %q", got)
	}
	b.expectQuiet("file:")
}

func TestBrowserFiltersByWayIn(t *testing.T) {
	builder := inspector.NewBuilder(inspector.Options{})
	for _, name := range []string{"one/openai", "two/openai", "one/openai@base-url"} {
		ingress := "mitm"
		if strings.HasSuffix(name, "@base-url") {
			ingress = "base-url"
		}
		builder.Add(inspector.Observation{Name: name, Provider: "openai", Ingress: ingress,
			Results: []report.Result{{Requirement: "ORD-001", Check: "ORD-001/answered", Verdict: report.Pass,
				Observed: 1}}})
	}
	b := openTab(t, savePage(t, builder.Page(inspector.Head{Kind: "run"}))+
		"#/matrix?area=ORD&provider=openai&ingress=base-url", 1280, 800)
	shown := func() string { return eval[string](b, `document.querySelector(".filters .end").textContent`) }
	if got := shown(); got != "1 requirement × 1 case" {
		t.Errorf("by base URL: %q", got)
	}
	eval[bool](b,
		`(() => { const s = document.querySelector("select[name=ingress]"); s.value = "mitm"; return s.dispatchEvent(new Event("change")); })()`)
	b.waitForView("#/matrix?area=ORD&provider=openai&ingress=mitm")
	if got := shown(); got != "1 requirement × 2 cases" {
		t.Errorf("through the proxy: %q", got)
	}
	b.expectQuiet("file:")
}

func TestBrowserIsWalkedByKeyboard(t *testing.T) {
	b := openTab(t, savePage(t, pageOf(t, inspector.Options{}, readRecordings(t))), 1280, 800)
	b.press("j")
	b.waitFor(`document.activeElement.matches(".cause a")`)
	b.press("3")
	b.waitForView("#/findings")
	b.press("j", kb.Enter)
	b.waitForView("#/finding/")
	b.press(kb.Escape)
	b.waitForView("#/findings")
	b.press("2")
	b.waitFor(`document.querySelector(".grid")`)
	b.press(kb.ArrowDown)
	b.waitFor(`document.querySelector(".cell.active") && document.querySelector(".caption").innerText.includes("SIG-001")`)
	b.press(kb.Enter)
	b.waitForView("#/finding/")
	b.visit("#/matrix?verdict=all")
	b.press(kb.ArrowDown, kb.ArrowDown, kb.ArrowRight)
	b.waitFor(`document.querySelector(".caption").innerText.includes("ORD-002")`)
	b.press("?")
	b.waitFor(`document.querySelector("#help").open`)
	b.press(kb.Escape)
	b.waitFor(`!document.querySelector("#help").open`)
	b.press("t")
	b.waitFor(`document.documentElement.dataset.theme === "dark"`)
	b.do(chromedp.Reload())
	b.waitFor(`document.documentElement.dataset.theme === "dark" && document.querySelector(".grid")`)
	b.expectQuiet("file:")
}

// The overview opens with the cause: its sentence, the bytes, the fix, the place. Nothing runs out of
// a telephone, whatever the view, and paper is light with everything open.
func TestBrowserShowsTheCauseFirst(t *testing.T) {
	b := openTab(t, savePage(t, pageOf(t, inspector.Options{}, readRecordings(t))), 390, 844)
	first := eval[string](b, `document.querySelector("main .cause").innerText`)
	for _, want := range []string{"fail", "Signature differs from byte 420 on", "^ byte 420", "opaque bytes", trimmed,
		"exchange 1, byte 768", "SIG-001"} {
		if _, after, isThere := strings.Cut(first, want); isThere {
			first = after
		} else {
			t.Errorf("%q does not stand in its place: %s", want, first)
		}
	}
	for _, hash := range []string{"#/", "#/matrix", "#/matrix?verdict=all", "#/findings", "#/cases",
		"#/requirement/SIG-001",
		"#/finding/" + url.PathEscape(trimmed) + "/" + url.PathEscape("SIG-001/signature-bytes") + "/0",
		"#/case/" + url.PathEscape(trimmed), "#/case/" + url.PathEscape(trimmed) + "/exchange/1"} {
		b.visit(hash)
		const outside = `[...document.querySelectorAll("#top *, #main *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll-x, .lanes, .list, .grid, .bytes, .tabs")).map((e) => e.outerHTML.slice(0, 90)).join("\n")`
		if got := eval[string](b, outside); got != "" {
			t.Errorf("%s: runs out of the box:\n%s", hash, got)
		}
	}
	b.visit("#/")
	b.press("t")
	eval[bool](b, `dispatchEvent(new Event("beforeprint"))`)
	b.waitFor(`document.documentElement.dataset.theme === "light" && [...document.querySelectorAll("#main details")].every((d) => d.open)`)
	b.expectQuiet("file:")
}

// A matrix of many cases opens on what failed, and has a column for each family of cases.
func TestBrowserGroupsTheMatrix(t *testing.T) {
	builder := inspector.NewBuilder(inspector.Options{})
	for i := range 400 {
		verdict := report.Pass
		if i < 60 {
			verdict = report.Fail
		}
		builder.Add(inspector.Observation{Name: fmt.Sprintf("scenario-%d/openai@%d", i/20, i),
			Results: []report.Result{{Requirement: "ORD-001", Check: "ORD-001/answered", Verdict: verdict}}})
	}
	b := openTab(t, savePage(t, builder.Page(inspector.Head{Kind: "run"}))+"#/matrix", 1280, 800)
	shown := func() string { return eval[string](b, `document.querySelector(".filters .end").textContent`) }
	if got := shown(); got != "1 requirement × 3 families" {
		t.Errorf("what failed: %q", got)
	}
	eval[bool](b, `(document.querySelector(".grid .col").click(), true)`)
	b.waitFor(`location.hash.includes("family=scenario-0")`)
	if got := shown(); got != "1 requirement × 20 cases" {
		t.Errorf("one family: %q", got)
	}
	b.visit("#/matrix?verdict=all")
	if got := shown(); got != "1 requirement × 20 families" {
		t.Errorf("everything: %q", got)
	}
	b.expectQuiet("file:")
}

func TestBrowserShowsASharedPage(t *testing.T) {
	b := openTab(t, savePage(t, pageOf(t, inspector.Options{Share: true}, readRecordings(t))), 1280, 800)
	b.visit("#/finding/" + url.PathEscape(trimmed) + "/" + url.PathEscape("SIG-001/signature-bytes") + "/0")
	b.waitFor(`document.querySelector("#main").innerText.includes("holds no content")`)
	b.visit("#/case/" + url.PathEscape(trimmed) + "/exchange/1")
	b.waitFor(`document.querySelector("#main").innerText.includes("holds no content")`)
	b.expectQuiet("file:")
}

// A scoreboard keeps condensed pages and links to parts of them.
func TestBrowserShowsACondensedPage(t *testing.T) {
	page := pageOf(t, inspector.Options{Share: true}, readRecordings(t)).Condense()
	b := openTab(t, savePage(t, page)+"#/matrix?area=SIG&provider=anthropic&ingress=", 1280, 800)
	b.waitFor(`document.querySelectorAll(".cell").length > 10`)
	for _, c := range page.Cases {
		if c.Verdict == report.Pass {
			b.visit("#/case/" + url.PathEscape(c.Name))
			b.waitFor(fmt.Sprintf(`document.querySelector("#main").innerText.includes(%q)`, c.Name))
			break
		}
	}
	b.visit("#/case/" + url.PathEscape(trimmed) + "/exchange/1")
	b.waitFor(`document.querySelector("#main").innerText.includes("holds no content")`)
	b.expectQuiet("file:")
}

func TestBrowserFollowsARun(t *testing.T) {
	feed := newFeed()
	address := startPages(t, feed)
	b := openTab(t, address+"#/cases", 1280, 800)
	b.waitFor(`document.querySelector(".empty")`)
	list := readRecordings(t)
	rules := allRules(t)
	for _, rec := range list[:3] {
		r := report.JudgeRecording(rules, rec)
		feed.Add(inspector.Observation{Name: rec.Path, Evidence: &rec.Evidence, Results: r.Results()})
	}
	b.waitFor(`document.querySelectorAll(".item").length === 3`)
	b.visit("#/case/" + url.PathEscape(list[2].Path) + "/exchange/0")
	b.waitFor(`document.querySelectorAll(".octets .item").length > 5`)
	feed.Finish(inspector.Head{Kind: "run", Summary: &report.Summary{Verdict: report.Fail}}, nil, nil)
	b.visit("#/")
	b.waitFor(`document.querySelector(".verdict.big.v-fail")`)
	b.expectQuiet(address)
}
