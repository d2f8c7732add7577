package replay

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "github.com/meerkat-go/conformance/wires/all"
)

// applied is a JSON body after the rules, as JSON.
func applied(t *testing.T, body string, rules []string, places ...Place) (string, takenOut) {
	t.Helper()
	var rs Scrubs
	for _, text := range rules {
		r, err := ParseScrub(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		rs = append(rs, r)
	}
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	v, taken := rs.apply(v, places...)
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String()), taken
}

// text applies a rule to one text.
func text(t *testing.T, in, rule string, places ...Place) string {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"text": in})
	out, _ := applied(t, string(body), []string{rule}, places...)
	var object map[string]string
	if err := json.Unmarshal([]byte(out), &object); err != nil {
		t.Fatal(err)
	}
	return object["text"]
}

func TestNamedRules(t *testing.T) {
	alice := Place{ScrubFolder: "/home/alice/heron", ScrubHome: "/home/alice", ScrubUser: "alice", ScrubHost: "alpha"}
	for _, c := range []struct{ rule, in, want string }{
		{ScrubDate, "Today is 2026-11-23.", "Today is <date>."},
		{ScrubDate, "2026-11-23T10:00:00Z", "<date>T10:00:00Z"},
		{ScrubDate, "Monday, November 23, 2026 (local)", "<date> (local)"},
		{ScrubDate, "Mon Nov 23 23:40:36 UTC 2026", "<date>"},
		{ScrubDate, "Mon Nov  3 2026", "<date>"},
		{ScrubDate, "on 23 November 2026, 11/23/2026 or 23.11.2026", "on <date>, <date> or <date>"},
		{ScrubDate, "May I march 3 times? Version 1.2.3, model claude-sonnet-4-5",
			"May I march 3 times? Version 1.2.3, model claude-sonnet-4-5"},
		{ScrubTime, "at 23:40:36, 11:40 pm and 2026-11-23T23:40:36.123Z", "at <time>, <time> and 2026-11-23<time>"},
		{ScrubTime, "main.go:12:34 and 12:34", "main.go:12:34 and 12:34"},
		{ScrubTime, "run-1763940000000 since 1763940000.25", "run-<time> since <time>"},
		{ScrubUUID,
			"a 01a20ac8-89ad-7302-9f4d-149b9ea34ec3 b 11a20ac8-89ad-7302-9f4d-149b9ea34ec3 c 01a20ac8-89ad-7302-9f4d-149b9ea34ec3", "a <uuid-0> b <uuid-1> c <uuid-0>"},
		{ScrubID, "msg_01a20ac8-89ad-7302-9f4d-149b9ea34ec3 toolu_01GoG8TtwDVmLVx9fcN9kWte 9f86d081884c7d65",
			"<id-0> <id-1> <id-2>"},
		{ScrubID, "Nothing here is an identifier: internationalization, 20260101, utf8, sha256, deadbeef",
			"Nothing here is an identifier: internationalization, 20260101, utf8, sha256, deadbeef"},
		{ScrubFolder, "in /home/alice/heron/src, -home-alice-heron, /tmp/heron/x, /home/alice/herons",
			"in <folder>/src, <folder>, /tmp<folder>/x, /home/alice/herons"},
		{ScrubHome, "/home/alice/.config and /home/alicetoo", "<home>/.config and /home/alicetoo"},
		{ScrubUser, "alice@alpha: malice, alice's", "<user>@alpha: malice, <user>'s"},
		{ScrubHost, "alice@alpha:~$ alphabet", "alice@<host>:~$ alphabet"},
	} {
		if got := text(t, c.in, c.rule, alice); got != c.want {
			t.Errorf("%s: %q, want %q", c.rule, got, c.want)
		}
	}
}

// The values of all places are looked for in both requests, and values that are too
// short or missing in none.
func TestPlaces(t *testing.T) {
	node, root := Place{ScrubUser: "node"}, Place{ScrubUser: "root"}
	for _, in := range []string{"node server.js as root", "root server.js as node"} {
		if got := text(t, in, ScrubUser, node, root); got != "<user> server.js as <user>" {
			t.Errorf("%q", got)
		}
	}
	for _, p := range []Place{{}, {ScrubFolder: "/"}, {ScrubFolder: ""}, {ScrubFolder: "/a"}} {
		if got := text(t, "/a and /", ScrubFolder, p); got != "/a and /" {
			t.Errorf("%v: %q", p, got)
		}
	}
	if got := text(t, "in /recorded/there and /here/now", "folder=/recorded/there", Place{ScrubFolder: "/here/now"}); got != "in <folder> and <folder>" {
		t.Errorf("%q", got)
	}
	if got := (Place{ScrubUser: "a", ScrubHome: "/b"}).Only(Scrubs{{name: ScrubUser}}); !cmp.Equal(got, Place{ScrubUser: "a"}) {
		t.Errorf("%v", got)
	}
}

// An id keeps its number wherever it stands, and what tells requests apart stays.
func TestIDsStayConsistent(t *testing.T) {
	talk := func(call, of string) string {
		return `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"` + call +
			`","name":"f","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + of + `","content":"done"}]}]}`
	}
	a, _ := applied(t, talk("c1", "c1"), []string{ScrubID})
	b, taken := applied(t, talk("x-7", "x-7"), []string{ScrubID})
	if a != b || !slices.Equal(taken[ScrubID], []string{"x-7", "x-7"}) {
		t.Errorf("%s\n%s\n%v", a, b, taken)
	}
	if c, _ := applied(t, talk("c1", "c2"), []string{ScrubID}); c == a {
		t.Error("a result of another call is the same")
	}
	kept := `{"data":"9f86d081884c7d65","model":"m20260101aaaa","name":"f9f86d081884c7d6","role":"user","signature":"9f86d081884c7d65","type":"t9f86d081884c7d65"}`
	if got, taken := applied(t, kept, []string{ScrubID}); got != kept || len(taken) != 0 {
		t.Errorf("%s %v", got, taken)
	}
	if got, _ := applied(t, `{"create_time":1795477244.4469988,"n":3}`, []string{ScrubTime}); got != `{"create_time":"<time>","n":3}` {
		t.Errorf("%s", got)
	}
}

func TestOwnRules(t *testing.T) {
	body := `{"a":[{"b":"run 17","c":1},{"b":"run 18"}],"d":{"b":"run 19","e e":2},"run 20":"x"}`
	for rule, want := range map[string]string{
		`$.d`:            `{"a":[{"b":"run 17","c":1},{"b":"run 18"}],"run 20":"x"}`,
		`$.a[*].b`:       `{"a":[{"c":1},{}],"d":{"b":"run 19","e e":2},"run 20":"x"}`,
		`$.a[1]`:         `{"a":[{"b":"run 17","c":1},null],"d":{"b":"run 19","e e":2},"run 20":"x"}`,
		`$..b`:           `{"a":[{"c":1},{}],"d":{"e e":2},"run 20":"x"}`,
		`$.d.*`:          `{"a":[{"b":"run 17","c":1},{"b":"run 18"}],"d":{},"run 20":"x"}`,
		`$.d['e e']`:     `{"a":[{"b":"run 17","c":1},{"b":"run 18"}],"d":{"b":"run 19"},"run 20":"x"}`,
		`$.none[3].x`:    body,
		`/\d+/`:          `{"a":[{"b":"run <…>","c":1},{"b":"run <…>"}],"d":{"b":"run <…>","e e":2},"run 20":"x"}`,
		`$.a[0] /run /`:  `{"a":[{"b":"<…>17","c":1},{"b":"run 18"}],"d":{"b":"run 19","e e":2},"run 20":"x"}`,
		`$.d["b"] /1\d/`: `{"a":[{"b":"run 17","c":1},{"b":"run 18"}],"d":{"b":"run <…>","e e":2},"run 20":"x"}`,
	} {
		got, taken := applied(t, body, []string{rule})
		if got != want || (got == body) != (len(taken[rule]) == 0) {
			t.Errorf("%s: %s, want %s; took %q", rule, got, want, taken)
		}
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	for rule, want := range map[string]string{
		"":               "is not a rule; use folder, home, uuid, id, time, date, user, host, a path",
		"dates":          "is not a rule",
		"date=today":     "date takes no value",
		"user=0\x96":     "is not valid UTF-8",
		"user=a":         "needs a value of at least 2 bytes",
		"$":              "is the whole request",
		"$.":             "is not a path",
		"$..":            "is not a path",
		"$x":             "is not a path",
		"$.a[x]":         "[x is not an index",
		"$.a['b":         "is not a path",
		"$.a b":          `"b" follows the path`,
		"/":              "is not a pattern",
		"//":             "is not a pattern",
		"/a":             "is not a pattern",
		"/(/":            "is not a regular expression in the syntax of RE2",
		"/a*/":           "matches the empty text",
		"/.+/":           "matches every text",
		"/./":            "matches every text",
		"/[A-Za-z]+/":    "matches every text",
		"$..*":           "is the whole request",
		"$[*].*":         "is the whole request",
		`/(?s)[^\x00]+/`: "matches every text",
		`$.a /\S*/`:      "matches the empty text",
	} {
		if _, err := ParseScrub(rule); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
}

// Whatever path leads to the last words of the user, they still tell requests apart. Other
// rules take their parts out of them.
func TestLastWordsStay(t *testing.T) {
	bodies := map[string]string{
		`{"messages":[{"role":"user","content":"before"},{"role":"user","content":"Delete on 2026-11-23"},{"role":"user","content":[{"type":"tool_result","content":"r"}]}]}`: "$.messages",
		`{"messages":[{"role":"user","content":[{"type":"text","text":"Delete on 2026-11-23"}]}]}`:                                                                            "$.messages[*].content[*].text",
		`{"input":"Delete on 2026-11-23"}`: "$.input",
		`{"input":[{"role":"user","content":[{"type":"input_text","text":"Delete on 2026-11-23"}]}]}`:    "$.input[0]",
		`{"request":{"contents":[{"role":"user","parts":[{"text":"Delete on 2026-11-23"}]}]}}`:           "$.request",
		`{"contents":[{"role":"user","parts":[{"text":"Delete on 2026-11-23"}]}],"generationConfig":{}}`: "$..parts",
	}
	for body, path := range bodies {
		out, taken := applied(t, body, []string{ScrubDate, path})
		if !strings.Contains(out, `"the user's last words":["Delete on <date>"]`) || len(taken[path]) == 0 {
			t.Errorf("%s: %s takes %q and leaves %s", body, path, taken, out)
		}
	}
	const marked = `{"messages":[{"role":"user","content":"env"},{"role":"user","content":[{"cache_control":{},"text":"Hi","type":"text"}]}]}`
	out, _ := applied(t, marked, []string{"$..cache_control", "$.messages[0]"})
	if want := `{"messages":[null,{"content":[{"text":"Hi","type":"text"}],"role":"user"}]}`; out != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
}

// What a path takes out is in the order of the members, so that equal requests need no rule.
func TestTakenIsInOrder(t *testing.T) {
	const body = `{"metadata":{"a":"1","b":"2","c":"3","d":"4","e":"5","f":"6","g":"7","h":"8"}}`
	for _, rule := range []string{"$.metadata.*", "$.metadata.* /[0-9]/"} {
		_, first := applied(t, body, []string{rule})
		for range 20 {
			if _, again := applied(t, body, []string{rule}); len(first.differing(again)) > 0 {
				t.Fatalf("%s: %q, then %q", rule, first, again)
			}
		}
	}
}

func TestTakenDiffering(t *testing.T) {
	a, b := takenOut{"x": {"1"}, "y": {"1"}, "z": {"1"}}, takenOut{"x": {"1"}, "y": {"2"}, "w": {"1"}}
	if got := a.differing(b); !slices.Equal(got, []string{"w", "y", "z"}) {
		t.Errorf("%q", got)
	}
}

// What is accepted is stored as one word and read back, and applying it never fails.
func FuzzParse(f *testing.F) {
	for _, rule := range append(ScrubNames(), "$.a[*].b", "$..c", "$['x y'] /a b%/", "/é+\t/", "user=bob",
		"folder=/a b") {
		f.Add(rule, `{"a":[{"b":"2026-11-23 x"}],"messages":[{"id":"1"}]}`)
	}
	f.Fuzz(func(t *testing.T, rule, body string) {
		r, err := readRule(rule)
		if err != nil {
			return
		}
		word := r.Word()
		if len(strings.Fields(word)) != 1 || strings.TrimSpace(word) != word {
			t.Fatalf("%q is written %q", rule, word)
		}
		again, err := scrubFromWord(word)
		if err != nil || again.String() != r.String() {
			t.Fatalf("%q is written %q, which reads as %q, %v", rule, word, again, err)
		}
		var v any
		d := json.NewDecoder(strings.NewReader(body))
		d.UseNumber()
		if d.Decode(&v) == nil {
			Scrubs{r}.apply(v, Place{ScrubFolder: body, ScrubUser: rule})
		}
	})
}
