package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/meerkat-go/conformance/"

// pkg is the part of `go list -json` that the walls look at.
type pkg struct {
	ImportPath string
	Name       string
	Imports    []string // direct imports of non-test files
	Deps       []string // transitive
	// TestImports and XTestImports are the direct imports of test files.
	TestImports, XTestImports []string
	TestGoFiles               []string // those inside the package
}

// name is the import path below the module root.
func (p pkg) name() string { return strings.TrimPrefix(p.ImportPath, module) }

// ownDeps yields the transitive imports that belong to this module.
func (p pkg) ownDeps() []string {
	var own []string
	for _, d := range p.Deps {
		if rest, ok := strings.CutPrefix(d, module); ok {
			own = append(own, rest)
		}
	}
	return own
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Name,Imports,Deps,TestImports,XTestImports,TestGoFiles",
		module+"...")
	var why bytes.Buffer
	cmd.Stderr = &why
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, why.String())
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 20 {
		t.Fatalf("go list named %d packages; the walls would prove nothing", len(all))
	}
	return all
}

// under reports whether path is tree or lies below it.
func under(path, tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }

func underAny(path string, trees []string) bool {
	return slices.ContainsFunc(trees, func(t string) bool { return under(path, t) })
}

// wall forbids every package below from, except for those below one of without, to
// reach, directly or not, a package below one of into, unless it lies below one of
// except.
type wall struct {
	from    string
	without []string
	into    []string
	except  []string
}

// shared lists the packages that every wall lets in: each uses the standard
// library and other shared packages only, internal/websocket and internal/datafile also a
// library of their own, and knows nothing of the parts.
var shared = []string{"internal/corpus", "internal/datafile", "internal/fileutil", "internal/inprocess",
	"internal/spelling", "internal/terminal", "internal/webpage", "internal/websocket"}

var walls = []wall{
	{from: "wires", into: []string{"vcr", "meerkat", "proxy", "conform", "suites", "schemas", "cassettes", "internal"}},
	{from: "meerkat", into: []string{"vcr", "proxy", "simulator", "wires", "conform", "suites", "specs", "schemas",
		"cassettes", "internal"}},
	{from: "proxy", into: []string{"vcr", "meerkat", "simulator", "conform", "suites", "specs", "schemas", "cassettes",
		"internal"}},
	{from: "simulator", into: []string{"vcr", "meerkat", "proxy", "conform", "suites", "cassettes", "internal"}},
	{from: "conform", without: []string{"conform/harness", "conform/subject", "conform/gateway", "conform/questions"},
		into: []string{"vcr", "meerkat", "simulator", "suites", "internal", "proxy"},
		except: []string{"proxy/cassette", "proxy/llm", "internal/isolate",
			// The wires bring their reply writers along.
			"simulator/script"}},
	{from: "conform/harness", into: []string{"meerkat", "suites", "internal"}, except: []string{"internal/isolate"}},
	{from: "conform/gateway", into: []string{"meerkat", "suites", "internal"}, except: []string{"internal/isolate"}},
	{from: "conform/subject", into: []string{"meerkat", "suites", "internal"}, except: []string{"internal/isolate"}},
	{from: "vcr", into: []string{"meerkat", "simulator", "suites", "internal", "conform/harness", "conform/subject",
		"conform/toolserver", "conform/inspector", "proxy/ca"},
		except: []string{"simulator/script"}},
	{from: "specs", into: []string{"meerkat", "proxy", "simulator", "conform", "suites", "internal"}},
	{from: "schemas", into: []string{"meerkat", "proxy", "simulator", "conform", "suites", "internal"}},
	{from: "profiles", into: []string{"meerkat", "proxy", "simulator", "conform", "suites", "internal"}},
	// Inside meerkat the arrows point down only.
	{from: "meerkat/transcript", into: []string{"meerkat"}, except: []string{"meerkat/transcript", "meerkat/internal"}},
	{from: "meerkat/stream", into: []string{"meerkat"},
		except: []string{"meerkat/stream", "meerkat/transcript", "meerkat/internal"}},
	{from: "meerkat/provider", into: []string{"meerkat/session", "meerkat/tool", "meerkat/agent"}},
	{from: "meerkat/session", into: []string{"meerkat/agent"}},
	{from: "meerkat/artifact", into: []string{"meerkat/agent", "meerkat/provider", "meerkat/tool"}},

	// Inside redact each package knows only those above it in this list, and the gate knows none.
	{from: "proxy/redact/internal/lex", into: []string{"proxy"}, except: []string{"proxy/redact/internal/lex"}},
	{from: "proxy/redact/internal/names", into: []string{"proxy"},
		except: []string{"proxy/redact/internal/names", "proxy/redact/internal/lex"}},
	{from: "proxy/redact/internal/jsonscan", into: []string{"proxy/redact/internal/values",
		"proxy/redact/internal/structure", "proxy/redact/internal/freetext", "proxy/cassette"}},
	{from: "proxy/redact/internal/values",
		into: []string{"proxy/redact/internal/structure", "proxy/redact/internal/freetext", "proxy/cassette"}},
	{from: "proxy/redact/internal/structure", into: []string{"proxy/redact/internal/freetext"}},
	{from: "proxy/redact/gate", into: []string{"proxy/redact"}, except: []string{"proxy/redact/gate"}},

	{from: "meerkat/handoff", into: []string{"meerkat"},
		except: []string{"meerkat/handoff", "meerkat/catalog", "meerkat/transcript", "meerkat/internal"}},
	{from: "meerkat/tool", into: []string{"meerkat/agent", "meerkat/session", "meerkat/provider", "meerkat/mcp"}},
	{from: "meerkat/mcp", into: []string{"meerkat"},
		except: []string{"meerkat/mcp", "meerkat/tool", "meerkat/transcript", "meerkat/internal"}},
}

func TestWalls(t *testing.T) {
	all := packages(t)
	for _, w := range walls {
		seen := false
		for _, p := range all {
			if !under(p.name(), w.from) || underAny(p.name(), w.without) {
				continue
			}
			seen = true
			for _, d := range p.ownDeps() {
				if underAny(d, w.into) && !underAny(d, w.except) && !underAny(d, shared) {
					t.Errorf("%s reaches %s: a wall keeps %s apart from it", p.name(), d, w.from)
				}
			}
		}
		if !seen {
			t.Errorf("wall around %s guards no package", w.from)
		}
	}
}

// TestRegistryIsTheDoor holds that the recorder and the data packages see the registry and no wire.
func TestRegistryIsTheDoor(t *testing.T) {
	for _, p := range packages(t) {
		if !underAny(p.name(), []string{"proxy", "profiles", "specs"}) {
			continue
		}
		for _, d := range p.ownDeps() {
			if strings.HasPrefix(d, "wires/") {
				t.Errorf("%s reaches %s; ask the registry, package wires", p.name(), d)
			}
		}
	}
}

// TestNoArrowUp holds that only programs know programs: nothing outside internal
// and cmd imports internal/app, its tests included.
func TestNoArrowUp(t *testing.T) {
	for _, p := range packages(t) {
		if underAny(p.name(), []string{"internal", "cmd"}) {
			continue
		}
		for _, imp := range slices.Concat(p.Deps, p.TestImports, p.XTestImports) {
			if under(strings.TrimPrefix(imp, module), "internal/app") {
				t.Errorf("%s imports %s: only cmd and internal may", p.name(), imp)
			}
		}
	}
}

// TestNothingIsCompiledTwice holds that tests do not make Go compile many packages once more. Go compiles what imports
// x again if x has tests inside the package and tests outside (package x_test) that import it.
func TestNothingIsCompiledTwice(t *testing.T) {
	all := packages(t)
	for _, p := range all {
		again := map[string]bool{}
		for _, q := range all {
			if q.ImportPath != p.ImportPath && slices.Contains(q.Deps, p.ImportPath) && len(p.TestGoFiles) > 0 &&
				slices.ContainsFunc(all, func(imported pkg) bool {
					return slices.Contains(p.XTestImports, imported.ImportPath) &&
						(imported.ImportPath == q.ImportPath || slices.Contains(imported.Deps, q.ImportPath))
				}) {
				again[q.name()] = true
			}
		}
		if len(again) > 2 {
			t.Errorf("tests of %s make Go compile %v again; move those that import one of them to a package that few import",
				p.name(), slices.Sorted(maps.Keys(again)))
		}
	}
}

// libraries lists where a library may be imported directly by non-test code.
var libraries = map[string][]string{
	"github.com/spf13/viper":          {"meerkat/config", "internal/app"},
	"github.com/elazarl/goproxy":      {"proxy"},
	"github.com/dnaeon/go-vcr":        {"proxy/cassette", "vcr"},
	"github.com/onsi":                 {"vcr/vcrgomega"},
	"github.com/xeipuuv":              {"schemas", "meerkat/tool"},
	"github.com/modelcontextprotocol": {"meerkat/mcp", "meerkat/server/mcp", "conform/toolserver"},
	"modernc.org/sqlite":              {"meerkat/session/sqlstore"},
	"github.com/jackc/pgx": {"meerkat/session/sqlstore", "meerkat/server/replicated",
		"internal/postgrestest"},
	"github.com/riverqueue":         {"meerkat/server/replicated"},
	"go.opentelemetry.io":           {"meerkat/observe/telemetry", "internal/app/rkat/backends"},
	"github.com/prometheus":         {"meerkat/observe/telemetry"},
	"github.com/anthropics":         {},
	"github.com/openai":             {},
	"google.golang.org/genai":       {},
	"github.com/spf13/cobra":        {"internal/app", "internal/generate"},
	"github.com/google/shlex":       {"conform/subject"},
	"github.com/coder/acp-go-sdk":   {"conform/subject/acp", "meerkat/server/acp"},
	"github.com/danielgtaylor/huma": {"meerkat/server/rest"},
	"github.com/coder/websocket":    {"internal/websocket"},
	"golang.org/x/text":             {"conform/check", "conform/evidence"},
	"github.com/chromedp":           {},
	"testing": {"internal/corpus", "meerkat/session/storetest", "meerkat/provider/providertest",
		"internal/postgrestest", "vcr"},
	"github.com/rogpeppe/go-internal": {},
	module + "internal/corpus":        {"meerkat/provider/providertest", "internal/ledger"}, // for tests only
}

func TestLibraries(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			for lib, homes := range libraries {
				if under(imp, lib) && !underAny(p.name(), homes) {
					t.Errorf("%s imports %s, which belongs in %v", p.name(), imp, homes)
				}
			}
		}
	}
}

// wiresUse lists what packages below wires may import beside the standard library, wires and
// what every wall lets in: rules read model sets, and replies follow a scenario.
var wiresUse = []string{"github.com/go-json-experiment/json/jsontext", module + "specs", module + "simulator/script"}

// TestWiresStandAlone holds that the referee and the simulator can both stand on wires.
func TestWiresStandAlone(t *testing.T) {
	found := false
	for _, p := range packages(t) {
		if !under(p.name(), "wires") {
			continue
		}
		found = true
		for _, imp := range p.Imports {
			first, _, _ := strings.Cut(imp, "/")
			own, _ := strings.CutPrefix(imp, module)
			if strings.Contains(first, ".") && !under(own, "wires") && !underAny(imp, wiresUse) &&
				!underAny(own, shared) {
				t.Errorf("%s imports %s; it may import the standard library, wires, %v and %v", p.name(), imp,
					wiresUse, shared)
			}
		}
	}
	if !found {
		t.Error("no package below wires exists")
	}
}

// TestSharedStandsAlone holds that what every wall lets in leads nowhere.
func TestSharedStandsAlone(t *testing.T) {
	found := 0
	for _, p := range packages(t) {
		if !underAny(p.name(), shared) {
			continue
		}
		found++
		own := slices.DeleteFunc(p.ownDeps(), func(d string) bool { return underAny(d, shared) })
		if len(own) > 0 {
			t.Errorf("%s imports %v, which is not shared", p.name(), own)
		}
	}
	if found < len(shared) {
		t.Errorf("%d of the %d shared packages exist", found, len(shared))
	}
}

// TestShell holds the thin shell: main packages only call their app.
func TestShell(t *testing.T) {
	for _, p := range packages(t) {
		if !under(p.name(), "cmd") {
			continue
		}
		for _, imp := range p.Imports {
			if rest, ok := strings.CutPrefix(imp, module); ok && !under(rest, "internal/app") {
				t.Errorf("%s imports %s; main.go only calls internal/app", p.name(), rest)
			}
		}
	}
}
