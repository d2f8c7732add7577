package simulator

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/meerkat-go/conformance/wires/anthropic"
	"github.com/meerkat-go/conformance/wires/rule"
)

const (
	tableFile = "../docs/simulator-rules.md"
	wireFile  = "../specs/wire-rules.md"
)

const tableHead = `# The simulator's rules

Generated from the rules themselves: ` + "`go test ./simulator -run TestTable -update`" + `.

What the simulator refuses, provider by provider, in the order in which it checks;
the first rule that is broken answers. Ids are those of [the wire
rules](../specs/wire-rules.md). A rule is enforced at its level and at every stricter one:
**strict** enforces all, **live** what the live API is known to enforce, **lenient**
what a reply cannot be made without. ` + "`recorder simulate --off ID`" + ` switches one off.
`

// TestTable holds that docs/simulator-rules.md says what is enforced, that each
// rule stands in the wire rules and that a test of its package breaks it.
func TestTable(t *testing.T) {
	wire, err := os.ReadFile(wireFile)
	if err != nil {
		t.Fatal(err)
	}
	out := bytes.NewBufferString(tableHead)
	for _, name := range Providers() {
		rules, tests := Rules(name), mentioned(t, name)
		fmt.Fprintf(out,
			"\n## %s\n\n%d rules.\n\n| rule | demand | source | confidence | level | test |\n|---|---|---|---|---|---|\n", name, len(rules))
		for _, r := range rules {
			if !bytes.Contains(wire, []byte(r.ID)) {
				t.Errorf("%s: no row in specs/wire-rules.md", r.ID)
			}
			if len(tests[r.ID]) == 0 {
				t.Errorf("%s: no test of wires/%s names it", r.ID, name)
			}
			fmt.Fprintln(out, row(r, tests[r.ID]))
		}
		if name == "anthropic" {
			writeBetas(out)
		}
		fmt.Fprint(out,
			"\nAccepted, whatever it looks like (TestAccepted):\n\n| rule | what | source | confidence |\n|---|---|---|---|\n")
		for _, r := range Accepted(name) {
			if !bytes.Contains(wire, []byte(r.ID)) {
				t.Errorf("%s: no row in specs/wire-rules.md", r.ID)
			}
			fmt.Fprintf(out, "| %s | %s | %s | %s |\n", r.ID, r.Demand, r.Source, r.Confidence)
		}
	}
	if *update {
		if err := os.WriteFile(tableFile, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if is, err := os.ReadFile(tableFile); err != nil || !bytes.Equal(is, out.Bytes()) {
		t.Errorf("docs/simulator-rules.md is not what the rules say (%v); run this test with -update", err)
	}
}

// writeBetas writes what the betas of Anthropic bring.
func writeBetas(out *bytes.Buffer) {
	fmt.Fprint(out,
		"\nWhat a beta brings is unknown without it (A-5). Members of the request itself stand alone, others behind the object that they belong to.\n\n"+
			"| beta | members | header | models |\n|---|---|---|---|\n")
	var plain []string
	for _, b := range anthropic.Betas() {
		if b.Members == nil && b.Headers == nil && b.Models == "" {
			plain = append(plain, b.Name)
			continue
		}
		members := "`" + strings.Join(b.Members, "`, `") + "`"
		if b.Members == nil {
			members = ""
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", b.Name, members, strings.Join(b.Headers, ", "), b.Models)
	}
	fmt.Fprintf(out, "\nKnown too, without members of their own: %s.\n", strings.Join(plain, ", "))
}

func row(r rule.Info, tests []string) string {
	cells := []string{r.ID, r.Demand, r.Source, string(r.Confidence), r.Least.String(), strings.Join(tests, ", ")}
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.Join(strings.Fields(c), " "), "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// mentioned maps each string literal in a package's tests to the test functions,
// or the tables, that hold it.
func mentioned(t *testing.T, provider string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "wires", provider, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	if cases, err := os.ReadFile(filepath.Join("..", "wires", provider, "testdata", "rules.txt")); err == nil {
		for _, id := range regexp.MustCompile(`(?m)^[>=] (\S+)`).FindAllStringSubmatch(string(cases), -1) {
			all[id[1]] = []string{"TestRules"}
		}
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			name := declared(decl)
			if strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Benchmark") {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, _ := strconv.Unquote(lit.Value)
					if !slices.Contains(all[text], name) {
						all[text] = append(all[text], name)
					}
				}
				return true
			})
		}
	}
	return all
}

func declared(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if v, ok := s.(*ast.ValueSpec); ok {
				return v.Names[0].Name
			}
		}
	}
	return ""
}
