package specs

import (
	"strings"
	"testing"
	"testing/fstest"
)

const goodThread = `- thread: https://github.com/a/b/issues/1
  title: text
  class: R9
  provider: anthropic
  requirement: ORD-014
  failing: [{request: "{}"}]
  passing: [{request: "{}"}]
`

func TestEmbeddedThreadsLoad(t *testing.T) {
	all, err := Threads()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 120 || all[0].File == "" || all[0].Line == 0 {
		t.Errorf("%d threads, first at %s:%d", len(all), all[0].File, all[0].Line)
	}
	if name := all[0].Name(); !strings.Contains(name, "#") || strings.Contains(name, "github.com") {
		t.Errorf("name %q", name)
	}
}

// TestThreadFaults holds that what is wrong with a file is said with its line.
func TestThreadFaults(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no requirement", "  requirement: ORD-014\n", "", "threads/x.yaml:1: requirement is missing; name the one that must see the bug"},
		{"a misspelt requirement", "ORD-014", "ORD-14", `requirement "ORD-14" is unknown; did you mean ORD-014?`},
		{"a misspelt key", "provider:", "provder:", "line 4: field provder not found in Thread; did you mean provider?"},
		{"a misspelt key of an exchange", "passing: [{request:", "passing: [{requst:", "did you mean request?"},
		{"another page", "github.com/a/b/issues/1", "example.com/1", "is not the address of an issue"},
		{"no title", "title: text", "title: ''", "title is empty"},
		{"an unknown class", "class: R9", "class: R999", `class "R999" is not a row`},
		{"a rule as class", "class: R9", "class: A-1", `class "A-1" is not a row`},
		{"an unknown provider", "provider: anthropic", "provider: acme", `provider "acme" is unknown`},
		{"an unknown source", "  title", "  source: air\n  title", `source "air" is unknown`},
		{"no bug", `  failing: [{request: "{}"}]` + "\n", "", "failing has no exchange"},
		{"no twin", `  passing: [{request: "{}"}]` + "\n", "", "passing has no exchange"},
		{"an empty request", `passing: [{request: "{}"}]`, "passing: [{request: ''}]", "passing[0].request is empty"},
		{"another provider", `passing: [{request`, "passing: [{provider: acme, request", `passing[0].provider "acme" is unknown`},
		{"a process that is not there", `passing: [{request`, "passing: [{process: 2, request", "passing[0].process 2 is not among"},
		{"a second document", "- thread", "---\n---\n- thread", "more than one YAML document"},
	} {
		file := strings.Replace(goodThread, c.old, c.new, 1)
		_, err := loadThreads(fstest.MapFS{"threads/x.yaml": {Data: []byte(file)}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "threads/x.yaml:") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := loadThreads(fstest.MapFS{"threads/x.yaml": {Data: []byte(goodThread)}}); err != nil {
		t.Error(err)
	}
	if _, err := loadThreads(fstest.MapFS{"threads/x.yaml": {Data: []byte("[]")}}); err == nil {
		t.Error("an empty file loads")
	}
	unconfirmed := strings.Replace(goodThread, "  title", "  unconfirmed: true\n  title", 1)
	if list, err := loadThreads(fstest.MapFS{"threads/x.yaml": {Data: []byte(unconfirmed)}}); err != nil || !list[0].Unconfirmed {
		t.Errorf("an address that is not confirmed: %v, %v", list, err)
	}
	_, err := loadThreads(fstest.MapFS{"threads/x.yaml": {Data: []byte(goodThread)}, "threads/y.yaml": {Data: []byte("\n" + goodThread)}})
	if err == nil || !strings.Contains(err.Error(), "threads/y.yaml:2: thread https://github.com/a/b/issues/1 stands in threads/x.yaml:1 already") {
		t.Errorf("the same thread twice: %v", err)
	}
}
