package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// providerSites lists the files outside wires that name a provider to decide something, with the number
// of places. The list may only shrink, to nothing in the end.
const providerSites = "testdata/provider-sites.txt"

// providerNamed matches the names of providers in code: a constant, the text of one, a choice by position.
var providerNamed = regexp.MustCompile(`^(Anthropic|OpenAI|Gemini|anthropic|openai|gemini|byProvider)$`)

// TestWiresKnowTheProviders holds that what is particular to a provider stands in its folder below wires.
func TestWiresKnowTheProviders(t *testing.T) {
	allowed := map[string]int{}
	recorded, err := os.ReadFile(providerSites)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(recorded)) {
		var path string
		var count int
		if _, err := fmt.Sscan(line, &count, &path); err != nil {
			t.Fatalf("%s: %q: %v", providerSites, line, err)
		}
		allowed[path] = count
	}
	found := map[string]int{}
	walk(t, func(path string) {
		slashed := filepath.ToSlash(path)
		if filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") &&
			!underAny(slashed, []string{"wires", "meerkat", "vcr", "specs", "oracle", "peers", "subjects"}) {
			if n := countProviderSites(t, path); n > 0 {
				found[slashed] = n
			}
		}
	})
	if *update {
		var text strings.Builder
		for _, path := range slices.Sorted(maps.Keys(found)) {
			fmt.Fprintln(&text, found[path], path)
		}
		if err := os.WriteFile(providerSites, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	total := 0
	for path, n := range found {
		total += n
		if n > allowed[path] {
			t.Errorf("%s names a provider in %d places, %d are allowed; ask the registry, package wires, or put the difference into the wire", path, n, allowed[path])
		}
	}
	t.Logf("%d places in %d files name a provider", total, len(found))
}

// countProviderSites counts the places of a file that name a provider in code.
func countProviderSites(t *testing.T, path string) (count int) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../..", path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		text := ""
		switch x := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			text, _ = strconv.Unquote(x.Value)
		case *ast.Ident:
			if text = x.Name; text == strings.ToLower(text) {
				return true // a package or a variable
			}
		}
		if providerNamed.MatchString(text) {
			count++
		}
		return true
	})
	return count
}
