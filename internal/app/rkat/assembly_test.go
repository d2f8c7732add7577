package rkat

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// builderOnly lists what AgentBuilder does for every user of the SDK. A command
// that did it by itself would be a second way to build an agent.
var builderOnly = map[string]bool{
	"agent.Config": true, "agent.Run": true, "agent.Resume": true, "agent.Compact": true, "agent.Preview": true,
	"agent.PreviewResume": true,
	"tool.New":            true, "tool.Join": true, "tool.Restrict": true, "tool.DispatchAll": true, "mcp.Open": true,
	"anthropic.New": true, "openai.New": true, "gemini.New": true,
}

// TestAgentsComeFromTheBuilder holds that this package puts no agent and no set
// of tools together by itself.
func TestAgentsComeFromTheBuilder(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	built := false
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var used ast.Expr
			switch n := n.(type) {
			case *ast.CallExpr:
				used = n.Fun
			case *ast.CompositeLit:
				used = n.Type
			}
			selector, ok := used.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if from, ok := selector.X.(*ast.Ident); ok {
				name := from.Name + "." + selector.Sel.Name
				built = built || name == "meerkat.NewAgent"
				if builderOnly[name] {
					t.Errorf(
						"%s: %s; use meerkat.AgentBuilder, and give it the option that is missing",
						files.Position(n.Pos()), name,
					)
				}
			}
			return true
		})
	}
	if !built {
		t.Error("meerkat.NewAgent is used nowhere; the test proves nothing")
	}
}
