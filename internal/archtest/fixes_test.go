package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/specs"
)

// TestFixesFit holds that each row of fixes in the requirements can match: what the row expects a finding to say stands in
// a text of the judging side, and the rules that it names exist. A message that is worded anew would
// else lose its fix without a word.
func TestFixesFit(t *testing.T) {
	said := textsOf(t, "../../wires", "../../conform/check")
	all, err := specs.Requirements()
	rules, err2 := specs.WireRules()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	known := map[string]bool{}
	for _, rule := range rules {
		for _, id := range rule.IDs {
			known[id] = true
		}
	}
	rows := 0
	for _, r := range all {
		for i, row := range r.Fixes {
			rows++
			if !slices.ContainsFunc(said, func(text string) bool { return strings.Contains(text, row.Says) }) {
				t.Errorf("%s: fixes[%d]: nothing says %q", r.ID, i, row.Says)
			}
			for _, id := range row.Rules {
				if !known[id] {
					t.Errorf("%s: fixes[%d]: there is no rule %s", r.ID, i, id)
				}
			}
		}
	}
	if rows < 100 {
		t.Errorf("%d rows found; the test would prove little", rows)
	}
}

// textsOf returns the string literals of the Go files below folders, tests left out.
func textsOf(t *testing.T, folders ...string) (texts []string) {
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil {
						texts = append(texts, text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return texts
}
