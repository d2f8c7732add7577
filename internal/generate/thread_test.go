package main

import (
	"os"
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
	all, err := readThreads(os.DirFS("../../specs"))
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
		{"no requirement", "  requirement: ORD-014\n", "", `threads/x.yaml:1:3: key "[0].requirement" is missing`},
		{"a misspelt requirement", "ORD-014", "ORD-14",
			`[0].requirement: ORD-14: no such requirement; did you mean ORD-014?`},
		{"a misspelt key", "provider:", "provder:",
			`threads/x.yaml:4:3: key "[0].provder" is not known; did you mean provider?`},
		{"another page", "github.com/a/b/issues/1", "example.com/1", "is not the address of an issue"},
		{"an unknown class", "class: R9", "class: R999", `class: "R999" is not a row`},
		{"a rule as class", "class: R9", "class: A-1", `class: "A-1" is not a row`},
		{"an unknown provider", "provider: anthropic", "provider: acme", `[0].provider: "acme" is not known`},
		{"no bug", `  failing: [{request: "{}"}]` + "\n", "", `key "[0].failing" is missing`},
		{"a process that is not there", `passing: [{request`, "passing: [{process: 2, request",
			"passing[0].process: 2 is not among"},
	} {
		file := strings.Replace(goodThread, c.old, c.new, 1)
		_, err := readThreads(fstest.MapFS{"threads/x.yaml": {Data: []byte(file)}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "threads/x.yaml:") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := readThreads(fstest.MapFS{"threads/x.yaml": {Data: []byte(goodThread)}}); err != nil {
		t.Error(err)
	}
	if _, err := readThreads(fstest.MapFS{"threads/x.yaml": {Data: []byte("[]")}}); err == nil {
		t.Error("an empty file loads")
	}
	unconfirmed := strings.Replace(goodThread, "  title", "  unconfirmed: true\n  title", 1)
	if list, err := readThreads(fstest.MapFS{"threads/x.yaml": {Data: []byte(unconfirmed)}}); err != nil ||
		!list[0].Unconfirmed {
		t.Errorf("an address that is not confirmed: %v, %v", list, err)
	}
	_, err := readThreads(fstest.MapFS{"threads/x.yaml": {Data: []byte(goodThread)},
		"threads/y.yaml": {Data: []byte("\n" + goodThread)}})
	if err == nil || !strings.Contains(err.Error(),
		"threads/y.yaml:2:3: [0]: thread https://github.com/a/b/issues/1 stands in threads/x.yaml:1 already") {
		t.Errorf("the same thread twice: %v", err)
	}
}
