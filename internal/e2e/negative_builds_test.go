package e2e_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// sourceEdit replaces text that stands in a source file exactly once.
type sourceEdit struct{ file, old, with string }

// defectPackage is added to the sources of the broken rkat. A process has the defect that the
// folder of its program is named by, so that one build serves all defects.
const defectPackage = `package defect

import (
	"os"
	"path/filepath"
)

func Is(name string) bool {
	program, err := os.Executable()
	return err == nil && filepath.Base(filepath.Dir(program)) == name
}
`

const defectImport = "github.com/meerkat-go/conformance/meerkat/defect"

// defects are edits of rkat. They are made while a broken rkat is compiled, so that the sources
// have no switch that breaks them.
var defects = []sourceEdit{
	// "tokens" gives tokens to anybody.
	{"meerkat/handoff/target.go", "return o.Provider == t.Provider && mayBeSame", `if defect.Is("tokens") {
		return o != nil
	}
	return o.Provider == t.Provider && mayBeSame`},
	{"meerkat/handoff/target.go", "if b.Meta != nil && !t.Model.Traits.Issues",
		`if defect.Is("tokens") && b.Meta != nil && b.Origin != nil {
		return true
	}
	if !defect.Is("tokens") && b.Meta != nil && !t.Model.Traits.Issues`},
	{"meerkat/handoff/target.go", "!t.Made(b) || !jsontok",
		`!t.Made(b) || defect.Is("tokens") && (b.Origin == nil || b.Origin.Provider != t.Provider) || !jsontok`},
	{"meerkat/provider/codec/openai/render_items.go", "return b.Meta != nil && b.Meta.EncryptedContent != nil",
		`if m := b.Meta; defect.Is("tokens") && m != nil && m.EncryptedContent == nil && m.Signature != "" {
		b.Meta = &transcript.Meta{EncryptedContent: &m.Signature}
	}
	return b.Meta != nil && b.Meta.EncryptedContent != nil`},

	// "calls" runs malformed and cut calls; "stops" takes pause, refusal and truncation for success.
	{"meerkat/agent/judge.go", "return verdict{keep: true, err: &TruncatedError{Stop: m.StopReason}, why: cutOff}",
		`if defect.Is("calls") {
			return verdict{keep: true, action: nextTools}
		}
		if defect.Is("stops") {
			return verdict{keep: true}
		}
		return verdict{keep: true, err: &TruncatedError{Stop: m.StopReason}, why: cutOff}`},
	{"meerkat/agent/turn.go", "calls := slices.Collect(m.ToolCalls())\n\tswitch v.action {",
		`calls := slices.Collect(m.ToolCalls())
	for i := range calls {
		if args := string(calls[i].Args); defect.Is("calls") && args[len(args)-1] != '}' {
			calls[i].Args = transcript.RawJSON(args + "\"}")
		}
	}
	switch v.action {`},
	{"meerkat/agent/judge.go", "return verdict{keep: true, action: nextCall}", `if defect.Is("stops") {
			return verdict{keep: true}
		}
		return verdict{keep: true, action: nextCall}`},
	{"meerkat/agent/judge.go", "return verdict{keep: true, err: &RefusedError{Stop: m.StopReason}, why: filtered}",
		`if defect.Is("stops") {
			return verdict{keep: true}
		}
		return verdict{keep: true, err: &RefusedError{Stop: m.StopReason}, why: filtered}`},
	{"meerkat/agent/driver.go", "\tif err == nil {\n\t\treturn replyInput",
		`	if defect.Is("stops") && err != nil && len(h.keepableBlocks()) > 0 {
		reply, err = stream.Reply{Message: transcript.Assistant(transcript.StopEndTurn, completeBlocks(h.keepableBlocks())...)}, nil
	}
	if err == nil {
		return replyInput`},

	// "history" rewrites the history on resume.
	{"meerkat/agent/turn.go", "\tdegraded, err := s.prepareCall(s.session.History())",
		`	history := s.session.History()
	if defect.Is("history") && len(s.session.Runs) > 1 {
		history.Messages = slices.Clone(history.Messages)
		history.Messages[0] = transcript.User("Earlier: " + history.Messages[0].Content)
	}
	degraded, err := s.prepareCall(history)`},

	// "tools" runs tools again when a request is tried again.
	{"meerkat/agent/driver.go", "\treturn waitedInput{d.currentTime()}", `	messages := d.state.session.Messages
	for i := len(messages) - 1; i >= 0 && defect.Is("tools"); i-- {
		if messages[i].Role == transcript.RoleAssistant {
			for call := range messages[i].ToolCalls() {
				d.cfg.toolDispatcher().Dispatch(ctx, call)
			}
			break
		}
	}
	return waitedInput{d.currentTime()}`},
}

// imports are what the edited files import in addition.
var imports = map[string][]string{
	"meerkat/handoff/target.go":                     {defectImport},
	"meerkat/provider/codec/openai/render_items.go": {defectImport},
	"meerkat/agent/judge.go":                        {defectImport},
	"meerkat/agent/turn.go":                         {defectImport},
	"meerkat/agent/driver.go": {defectImport,
		"github.com/meerkat-go/conformance/meerkat/transcript"},
}

// TestDefectsApply holds that the sources hold what each defect replaces, also where only a
// sample of the broken programs is tested.
func TestDefectsApply(t *testing.T) {
	editSources(t)
}

var buildBroken sync.Once

// brokenFolder returns a folder that holds rkat with a defect. The first test that needs one builds
// the program.
func brokenFolder(t *testing.T, defect string) string {
	t.Helper()
	rkat, err := exec.LookPath("rkat")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(rkat), "broken") // goes with the programs of all tests
	program := filepath.Join(dir, "rkat")
	buildBroken.Do(func() {
		sources, root := editSources(t)
		build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-overlay",
			filepath.Join(sources, "overlay.json"), "-o", program, "./cmd/rkat")
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	folder := filepath.Join(dir, defect)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(program, filepath.Join(folder, "rkat")); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return folder
}

// editSources writes the edited files and overlay.json, which names them, into a folder. root is
// the folder of the sources.
func editSources(t *testing.T) (dir, root string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	sources := map[string]string{}
	for file, added := range imports {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		clause, rest, _ := strings.Cut(string(text), "\n")
		sources[file] = clause + "\nimport (\n\"" + strings.Join(added, "\"\n\"") + "\"\n)\n" + rest
	}
	for _, e := range defects {
		if n := strings.Count(sources[e.file], e.old); n != 1 {
			t.Fatalf("%s: holds %d times what the defect replaces; bring defects in line with it:\n%s",
				e.file, n, e.old)
		}
		sources[e.file] = strings.Replace(sources[e.file], e.old, e.with, 1)
	}
	sources["meerkat/defect/defect.go"] = defectPackage
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range sources {
		changed := filepath.Join(dir, strconv.Itoa(len(overlay.Replace))+".go")
		overlay.Replace[filepath.Join(root, file)] = changed
		writeText(t, changed, text)
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(dir, "overlay.json"), string(list))
	return dir, root
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
