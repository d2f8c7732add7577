package archtest

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "write the recorded figures in testdata again")

// oneWordShare is the file with the highest allowed share of private functions
// that are named by a single word, in tenths of a percent. Names such as add,
// text and plan need their surroundings to be understood, so the share may only
// fall; the aim is 30 %.
const oneWordShare = "testdata/one-word-names.txt"

// slack is how far, in tenths of a percent, the share may fall before the
// recorded figure must follow it.
const slack = 10

func TestPrivateNamesSayWhatTheyDo(t *testing.T) {
	private, oneWord := 0, 0
	walk(t, func(path string) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") ||
			underAny(filepath.ToSlash(path), []string{"oracle", "peers"}) {
			return
		}
		for _, name := range privateFunctions(t, path) {
			private++
			if isOneWord(name) {
				oneWord++
			}
		}
	})
	if private < 1000 {
		t.Fatalf("%d private functions found; the figure would mean nothing", private)
	}
	share := 1000 * oneWord / private
	t.Logf("%d of %d private functions have names of one word: %.1f %%", oneWord, private, float64(share)/10)
	if *update {
		if err := os.WriteFile(oneWordShare, fmt.Appendln(nil, share), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	switch allowed := recordedShare(t); {
	case share > allowed:
		t.Errorf("%.1f %% of the private functions have names of one word, %.1f %% are allowed; give new ones a name that says what they do", float64(share)/10, float64(allowed)/10)
	case share < allowed-slack:
		t.Errorf("the share of one-word names fell from %.1f %% to %.1f %%; record it: go test ./internal/archtest -run PrivateNames -update", float64(allowed)/10, float64(share)/10)
	}
}

func recordedShare(t *testing.T) (share int) {
	t.Helper()
	text, err := os.ReadFile(oneWordShare)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &share); err != nil {
		t.Fatalf("%s: %v", oneWordShare, err)
	}
	return share
}

// privateFunctions returns the names of the private functions and methods of a
// file, without main, init and blanks.
func privateFunctions(t *testing.T, path string) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Name.IsExported() || f.Name.Name == "main" || f.Name.Name == "init" || f.Name.Name == "_" {
			continue
		}
		names = append(names, f.Name.Name)
	}
	return names
}

// isOneWord reports whether a camel-case name has no second word.
func isOneWord(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool { return unicode.IsUpper(r) || r == '_' }) < 0
}

// TestPackageNamesAreUnique holds that a package's name says which package it
// is. Provider and protocol names are the exception: each layer has its own
// part of a provider.
func TestPackageNamesAreUnique(t *testing.T) {
	shared := map[string]bool{"anthropic": true, "openai": true, "gemini": true, "mcp": true, "acp": true, "main": true}
	places := map[string][]string{}
	for _, p := range packages(t) {
		places[p.Name] = append(places[p.Name], p.name())
	}
	for name, paths := range places {
		if len(paths) > 1 && !shared[name] {
			t.Errorf("package name %s is used %d times: %s", name, len(paths), strings.Join(paths, ", "))
		}
	}
	if most := 119; len(packages(t)) > most {
		t.Errorf("%d packages; at most %d: put what a package's only user needs into its user", len(packages(t)), most)
	}
}
