package check_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/meerkat-go/conformance/conform/check"
	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/conform/mutate"
	"github.com/meerkat-go/conformance/conform/report"
	rules "github.com/meerkat-go/conformance/wires/rule"
)

var readSamples = sync.OnceValues(mutate.Samples)

// samples returns the hand-written cases by name; bodies may be replaced.
func samples(tb testing.TB) map[string]evidence.Evidence {
	tb.Helper()
	all, err := readSamples()
	if err != nil {
		tb.Fatal(err)
	}
	byName := map[string]evidence.Evidence{}
	for _, ev := range all {
		ev.Exchanges, ev.Process, ev.ToolRuns = slices.Clone(ev.Exchanges), slices.Clone(ev.Process),
			slices.Clone(ev.ToolRuns)
		byName[ev.Case] = ev
	}
	return byName
}

// find returns the check called id.
func find(t *testing.T, id string) check.Check {
	t.Helper()
	for _, c := range check.All() {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no check %s", id)
	return check.Check{}
}

// TestGoodEvidence: well-behaved agents break nothing, and between them they
// show every check something.
func TestGoodEvidence(t *testing.T) {
	observed := map[string]int{}
	for name, ev := range samples(t) {
		trace := check.Decode(&ev)
		for _, c := range check.All() {
			res := c.Run(trace)
			observed[c.ID] += res.Observed
			for _, f := range res.Findings {
				t.Errorf("%s: %s: %s", name, c.ID, f.Message)
			}
		}
	}
	for _, c := range check.All() {
		if observed[c.ID] == 0 {
			t.Errorf("%s sees nothing in any sample", c.ID)
		}
	}
}

// TestNothingSeen: without exchanges no check has seen anything.
func TestNothingSeen(t *testing.T) {
	nothing := check.Decode(&evidence.Evidence{})
	for _, c := range check.All() {
		if res := c.Run(nothing); res.Observed != 0 || len(res.Findings) != 0 {
			t.Errorf("%s: %+v", c.ID, res)
		}
	}
}

// breach is one edit of a sample and what the check must say about it.
type breach struct {
	check, sample string
	// at is the place of the edit: "N>" the request of exchange N, "N<" its
	// response, "pN" the process N.
	at       string
	old, new string // new replaces the first old
	path     string // of the first finding
	rule     string
	message  string // part of it
	fix      string // part of it
}

// row is one file of a table: the fields of its name, and its lines by the sign that they begin with,
// in runs.
type row struct {
	fields []string
	text   string
	edits  []string
}

// readTable reads a table in testdata. Lines that begin with - are taken out, those with + put in, and
// those with = are a part of the message, those with ~ a part of the fix. A dot stands for an empty field.
func readTable(t *testing.T, name string) (rows []row) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse(data).Files {
		r := row{fields: strings.Fields(f.Name), text: strings.TrimSuffix(string(f.Data), "\n")}
		for i, field := range r.fields {
			r.fields[i] = strings.TrimPrefix(field, ".")
		}
		sign := byte(0)
		for line := range strings.SplitSeq(r.text, "\n") {
			if n := len(r.edits) - 1; n >= 0 && line[0] == sign {
				r.edits[n] += "\n" + line[1:]
			} else {
				r.edits, sign = append(r.edits, line[1:]), line[0]
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func readBreaches(t *testing.T) (list []breach) {
	for _, r := range readTable(t, "breaches") {
		b := breach{r.fields[0], r.fields[1], r.fields[2], r.edits[0], r.edits[1], r.fields[3], r.fields[4],
			r.edits[2], ""}
		if len(r.edits) > 3 {
			b.fix = r.edits[3]
		}
		list = append(list, b)
	}
	return list
}

// TestBreaches makes one edit at a time and reads what the check says: where,
// under which rule, in which words, and how to mend it.
func TestBreaches(t *testing.T) {
	tried := map[string]bool{}
	for _, b := range readBreaches(t) {
		tried[b.check] = true
		t.Run(strings.ReplaceAll(b.check, "/", " ")+" "+b.sample+" "+b.at, func(t *testing.T) {
			ev, ok := samples(t)[b.sample]
			if !ok {
				t.Fatal("no such sample")
			}
			c := find(t, b.check)
			if res := c.Run(check.Decode(&ev)); len(res.Findings) > 0 || res.Observed == 0 {
				t.Fatalf("before the edit: %+v", res)
			}
			edit(t, &ev, b)
			res := c.Run(check.Decode(&ev))
			if len(res.Findings) == 0 {
				t.Fatal("nothing found")
			}
			f := res.Findings[0]
			if f.Check != b.check || f.Path != b.path || f.Rule != b.rule || !strings.Contains(f.Message, b.message) {
				t.Errorf("%s %q %q\n got %s\nwant %s", f.Check, f.Path, f.Rule, f.Message, b.message)
			}
			if f.Fix == "" || !strings.Contains(f.Fix, b.fix) {
				t.Errorf("fix %q, want %q", f.Fix, b.fix)
			}
			placed(t, ev, f, b)
		})
	}
	for _, c := range check.All() {
		if elsewhere := slices.Contains([]string{"ERR", "PAR", "TSC", "HYG", "MED", "CMP", "NSP", "SRV", "BET", "REC",
			"OPS", "BUD"}, c.ID[:3]); elsewhere {
			continue // refusal_test.go, par_test.go, tsc_test.go, schema_test.go, distorted_test.go and ops_test.go
		}
		if !tried[c.ID] && !isJudgedByWire(c.ID) &&
			!slices.Contains([]string{"SIG-012/asked-for", "SIG-018/own-provider", "STR-001/content-type",
				"CAS-001/recorded", "CAC-001/volatile", "WSK-001/own-response", "WSK-004/not-found"}, c.ID) {
			t.Errorf("%s: no breach in the table", c.ID)
		}
	}
}

// isJudgedByWire reports whether the rules of a wire judge the check, and its tests hold them.
func isJudgedByWire(id string) bool {
	for _, b := range rules.Books() {
		if slices.Contains(b.AllAspects(), id) {
			return true
		}
	}
	return false
}

func edit(t *testing.T, ev *evidence.Evidence, b breach) {
	t.Helper()
	if b.at[0] == 'p' {
		p := &ev.Process[0]
		text := fmt.Sprintf("exit %d\n%s", p.ExitCode, p.Stderr)
		text = strings.Replace(text, b.old, b.new, 1)
		if _, err := fmt.Sscanf(text, "exit %d\n", &p.ExitCode); err != nil {
			t.Fatal(err)
		}
		_, stderr, _ := strings.Cut(text, "\n")
		p.Stderr = []byte(stderr)
		return
	}
	x := &ev.Exchanges[int(b.at[0]-'0')]
	body := &x.Request.Body
	if b.at[1] == '<' {
		body = &x.Response.Body
	}
	edited := bytes.Replace(*body, []byte(b.old), []byte(b.new), 1)
	if bytes.Equal(edited, *body) {
		t.Fatal("the edit changes nothing")
	}
	*body = edited
}

// placed holds that the finding points into the exchange that was edited, and
// its offset into the right body.
func placed(t *testing.T, ev evidence.Evidence, f check.Finding, b breach) {
	t.Helper()
	if b.at[0] == 'p' {
		return
	}
	n := int(b.at[0] - '0')
	if int(f.Exchange) != n && !strings.HasPrefix(f.Check, "MOD-002") {
		t.Errorf("points to exchange %d, not %d", f.Exchange, n)
	}
	if b.at[1] == '<' {
		if f.Offset < 0 || int(f.Offset) > len(ev.Exchanges[n].Response.Body) {
			t.Errorf("offset %d outside the reply", f.Offset)
		}
		return
	}
	if f.Event != -1 || int(f.Offset) >= len(ev.Exchanges[n].Request.Body) {
		t.Errorf("event %d, offset %d in a request", f.Event, f.Offset)
	}
	if f.Emitted != nil && int(f.Emitted.Exchange) >= n {
		t.Errorf("was emitted in exchange %d, after it was sent", f.Emitted.Exchange)
	}
}

// TestTokensAreMasked: no message shows a whole token.
func TestTokensAreMasked(t *testing.T) {
	for _, b := range readBreaches(t) {
		ev := samples(t)[b.sample]
		edit(t, &ev, b)
		trace := check.Decode(&ev)
		for _, c := range check.All() {
			for _, f := range c.Run(trace).Findings {
				for _, token := range []string{"EsYBCkYIDBgCKkDc", "gAAAAABsynthetic", "EjQKMgERTTIKa",
					"EjQKMgERTTIKb"} {
					if strings.Contains(f.Message, token) {
						t.Fatalf("%s shows a token: %s", c.ID, f.Message)
					}
				}
			}
		}
	}
}

// TestLegal: no check minds an edit that providers accept (regressions §3.4).
func TestLegal(t *testing.T) {
	rules := catalogue(t)
	for _, l := range readTable(t, "legal") {
		t.Run(strings.Join(l.fields[2:], " "), func(t *testing.T) {
			ev, at := samples(t)[l.fields[0]], l.fields[1]
			for k := 0; k < len(l.edits); k += 2 {
				edit(t, &ev, breach{at: at, old: l.edits[k], new: l.edits[k+1]})
			}
			for _, res := range report.Judge(rules, &ev) {
				// An agent that does so does it in every request; here only one is
				// edited, so that its history seems to change.
				if res.Area() == "RES" && int(at[0]-'0') < len(ev.Exchanges)-1 {
					continue
				}
				if res.Check == "RES-001/reasoning" {
					continue // and here nothing shows that it does so in one process as well
				}
				if res.Verdict != report.Pass && len(res.Findings) > 0 {
					t.Errorf("%s: %s: %s", res.Check, res.Verdict, res.Findings[0].Message)
				}
			}
		})
	}
}

// TestExitIsPromised: what an exit code says is the agent's own matter, unless its profile
// promises it.
func TestExitIsPromised(t *testing.T) {
	for promises, want := range map[bool]report.Verdict{false: report.Warn, true: report.Fail} {
		ev := samples(t)["anthropic-truncated"]
		ev.Process[0].ExitCode, ev.PromisesExit = 0, promises
		for _, res := range report.Judge(catalogue(t), &ev) {
			if res.Check == "STR-010/exit-code" && res.Verdict != want {
				t.Errorf("promised %t: %s, want %s", promises, res.Verdict, want)
			}
		}
	}
}

// TestBlocksAreCompared: a finding about a block that is lost or out of order shows the blocks of both sides, and the
// mark stands under the first that differs.
func TestBlocksAreCompared(t *testing.T) {
	want := map[string]string{
		"ORD-008/block-order anthropic-loop": "thinking, redacted thinking, tool call echo toolu_01C | " +
			"redacted thinking, thinking, tool call echo toolu_01C | 0",
		"ORD-009/calls-kept gemini-loop": "text, tool call echo c0a1b2c3, tool call noargs c0d4e5f6 | " +
			"text, tool call echo c0a1b2c3 | 31",
		"SIG-021/hosted-kept openai-hosted": "thinking, web_search_call, image_generation_call, tool call echo call_31A | " +
			"thinking, image_generation_call, tool call echo call_31A | 10",
		"SIG-008/reasoning-kept openai-loop": "thinking, tool call echo call_01C | tool call echo call_01C | 0",
	}
	for _, b := range readBreaches(t) {
		sides, ok := want[b.check+" "+b.sample]
		if !ok {
			continue
		}
		ev := samples(t)[b.sample]
		edit(t, &ev, b)
		c := find(t, b.check).Run(check.Decode(&ev)).Findings[0].Compare
		if c == nil {
			t.Errorf("%s: nothing is compared", b.check)
		} else if got := fmt.Sprintf("%s | %s | %d", c.Expected, c.Actual, c.Mark); got != sides {
			t.Errorf("%s: %s\nwant %s", b.check, got, sides)
		}
	}
}
