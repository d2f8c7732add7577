package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/conform/decide"
)

// TestOnePackageDecides holds that no verdict is assigned, returned or put into a value outside
// conform/decide. Others compare verdicts, list them and count by them. The self-tests judge the
// referee rather than an agent.
func TestOnePackageDecides(t *testing.T) {
	names := []string{}
	for _, v := range decide.Verdicts {
		name := strings.ReplaceAll(strings.Title(strings.ReplaceAll(string(v), "-", " ")), " ",
			"") //nolint:staticcheck // ASCII
		names = append(names, name)
	}
	files, _ := filepath.Glob("../../conform/**/*.go")
	for _, pattern := range []string{"../../conform/*/*/*.go", "../../internal/app/conform/*.go", "../../vcr/*.go"} {
		more, _ := filepath.Glob(pattern)
		files = append(files, more...)
	}
	reads := 0
	for _, path := range files {
		folder := strings.TrimPrefix(filepath.Dir(path), "../../")
		if strings.HasSuffix(path, "_test.go") || underAny(folder, []string{"conform/decide", "conform/mutate"}) ||
			path == "../../conform/report/verdict.go" {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		isVerdict := func(e ast.Expr) bool {
			if s, ok := e.(*ast.SelectorExpr); ok {
				from, _ := s.X.(*ast.Ident)
				return from != nil && (from.Name == "report" || from.Name == "decide") &&
					slices.Contains(names, s.Sel.Name)
			}
			name, ok := e.(*ast.Ident)
			return ok && folder == "conform/report" && slices.Contains(names, name.Name)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var made []ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				made = n.Rhs
			case *ast.ReturnStmt:
				made = n.Results
			case *ast.ValueSpec:
				made = n.Values
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && strings.EqualFold(key.Name, "verdict") {
					made = []ast.Expr{n.Value}
				}
			case ast.Expr:
				if isVerdict(n) {
					reads++
				}
			}
			if i := slices.IndexFunc(made, isVerdict); i >= 0 {
				t.Errorf("%s: makes a verdict; hand the facts to package decide", set.Position(made[i].Pos()))
			}
			return true
		})
	}
	if reads < 20 {
		t.Errorf("%d verdicts are read in %d files; the test looks at nothing", reads, len(files))
	}
}
