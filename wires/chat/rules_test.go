package chat_test

import (
	_ "embed"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/simulator/script"
	"github.com/meerkat-go/conformance/wires/rule"
	"github.com/meerkat-go/conformance/wires/tree"
)

// cases are a breach of each rule and its nearest legal neighbours. A line "# HOST: NAME" begins one; "= RULE PATH"
// is what the referee reports, "> RULE TEXT" the rule by which the simulator refuses it and a part of its words, and all other lines are the body.
//
//go:embed testdata/rules.txt
var cases string

func TestRules(t *testing.T) {
	blocks := strings.Split("\n"+cases, "\n# ")[1:]
	for _, block := range blocks {
		title, rest, _ := strings.Cut(block, "\n")
		host, _, _ := strings.Cut(title, ":")
		var body, says string
		var want []string
		for line := range strings.Lines(rest) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "= "):
				want = append(want, line[2:])
			case strings.HasPrefix(line, "> "):
				says = line[2:]
			default:
				body += line
			}
		}
		if got := reportOf(t, host, body); !slices.Equal(got, want) {
			t.Errorf("%s: the referee reports %q, want %q", title, got, want)
		}
		r := httptest.NewRequest(http.MethodPost, "https://"+host+"/v1/chat/completions", nil)
		r.Header.Set("Authorization", "Bearer test-key")
		refusal := script.Simulations()["chat"].Parse(r, []byte(body)).Check(rule.Env{})
		id, words, _ := strings.Cut(says, " ")
		switch {
		case refusal == nil && says != "":
			t.Errorf("%s: the simulator accepts it, want %q", title, says)
		case refusal != nil && (says == "" || refusal.Rule != id || !strings.Contains(refusal.Message, words)):
			t.Errorf("%s: the simulator says %s %q, want %q", title, refusal.Rule, refusal.Message, says)
		case refusal != nil:
			if known := rule.Books()["chat"].RuleOf(refusal.Message); known == "" {
				t.Errorf("%s: no words know %q again", title, refusal.Message)
			}
		}
	}
	r := httptest.NewRequest(http.MethodPost, "https://api.openai.com/v1/chat/completions", nil)
	if refusal := script.Simulations()["chat"].Parse(r, []byte("{}")).Check(rule.Env{}); refusal == nil || refusal.Rule != "C-87" {
		t.Errorf("no key: refused by %+v, want C-87", refusal)
	}
	if len(blocks) < 100 {
		t.Errorf("%d cases", len(blocks))
	}
}

// reportOf lists what the wire's own rules report, and the faults of members that hold at any host.
func reportOf(t *testing.T, host, body string) (list []string) {
	t.Helper()
	root, err := tree.Parse(body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	seen := rule.Seen{URL: &url.URL{Scheme: "https", Host: host}, Root: root}
	passes := rule.Books()["chat"].Judge(seen, func(rule.Hosts) bool { return true })
	for _, list2 := range passes {
		for _, p := range list2 {
			for _, b := range p.Breaches {
				if b.Form != "" { // else it is a refusal alone
					list = append(list, b.Rule+" "+b.Path)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}
