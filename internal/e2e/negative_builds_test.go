package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sourceEdit replaces text that stands in a source file exactly once.
type sourceEdit struct{ file, old, with string }

const streamImport = "\"github.com/meerkat-go/conformance/meerkat/stream\"\n"

// importTranscript lets driver.go name the types of transcript.
var importTranscript = sourceEdit{"meerkat/agent/driver.go", streamImport, streamImport + "\t\"github.com/meerkat-go/conformance/meerkat/transcript\"\n"}

// brokenBuilds are the defects of rkat. They are made while it is compiled, so that the
// sources have no switch that breaks them.
var brokenBuilds = map[string][]sourceEdit{
	"gives tokens to anybody": {
		{"meerkat/handoff/target.go", "return o.Provider == t.Provider && mayBeSame(o.API, t.API) && SameAccount(o.Account, t.Account) &&\n\t\tt.Model.Reads(o.Model)", "return o != nil"},
		{"meerkat/handoff/target.go", "if b.Meta != nil && !t.Model.Traits.Issues(string(b.Meta.Provider)) {\n\t\treturn false", "if b.Meta != nil && b.Origin != nil {\n\t\treturn true"},
		{"meerkat/handoff/target.go", "!t.Made(b) || !jsontok", "!t.Made(b) || b.Origin == nil || b.Origin.Provider != t.Provider || !jsontok"},
		{"meerkat/provider/codec/openai/render_items.go", "return b.Meta != nil && b.Meta.EncryptedContent != nil",
			"if m := b.Meta; m != nil && m.EncryptedContent == nil && m.Signature != \"\" {\n\t\tb.Meta = &transcript.Meta{EncryptedContent: &m.Signature}\n\t}\n\treturn b.Meta != nil && b.Meta.EncryptedContent != nil"},
	},
	"runs malformed and cut calls": {
		{"meerkat/agent/judge.go", "return verdict{keep: true, err: &TruncatedError{Stop: m.StopReason}, why: cutOff}", "return verdict{keep: true, action: nextTools}"},
		{"meerkat/agent/turn.go", "calls := slices.Collect(m.ToolCalls())\n\tswitch v.action {",
			"calls := slices.Collect(m.ToolCalls())\n\tfor i := range calls {\n\t\tif args := string(calls[i].Args); args[len(args)-1] != '}' {\n\t\t\tcalls[i].Args = transcript.RawJSON(args + \"\\\"}\")\n\t\t}\n\t}\n\tswitch v.action {"},
	},
	"takes pause, refusal and truncation for success": {
		{"meerkat/agent/judge.go", "return verdict{keep: true, action: nextCall}", "return verdict{keep: true}"},
		{"meerkat/agent/judge.go", "return verdict{keep: true, err: &TruncatedError{Stop: m.StopReason}, why: cutOff}", "return verdict{keep: true}"},
		{"meerkat/agent/judge.go", "return verdict{keep: true, err: &RefusedError{Stop: m.StopReason}, why: filtered}", "return verdict{keep: true}"},
		importTranscript,
		{"meerkat/agent/driver.go", "\tif err == nil {\n\t\treturn replyInput",
			"\tif err != nil && len(h.keepableBlocks()) > 0 {\n\t\treply, err = stream.Reply{Message: transcript.Assistant(transcript.StopEndTurn, completeBlocks(h.keepableBlocks())...)}, nil\n\t}\n\tif err == nil {\n\t\treturn replyInput"},
	},
	"rewrites history on resume": {
		{"meerkat/agent/turn.go", "\tdegraded, err := s.prepareCall(s.session.History())",
			"\thistory := s.session.History()\n\tif len(s.session.Runs) > 1 {\n\t\thistory.Messages = slices.Clone(history.Messages)\n\t\thistory.Messages[0] = transcript.User(\"Earlier: \" + history.Messages[0].Content)\n\t}\n\tdegraded, err := s.prepareCall(history)"},
	},
	"runs tools again when it tries again": {
		importTranscript,
		{"meerkat/agent/driver.go", "\treturn waitedInput{d.currentTime()}",
			"\tmessages := d.state.session.Messages\n\tfor i := len(messages) - 1; i >= 0; i-- {\n\t\tif messages[i].Role == transcript.RoleAssistant {\n\t\t\tfor call := range messages[i].ToolCalls() {\n\t\t\t\td.cfg.toolDispatcher().Dispatch(ctx, call)\n\t\t\t}\n\t\t\tbreak\n\t\t}\n\t}\n\treturn waitedInput{d.currentTime()}"},
	},
}

// TestBrokenBuildsApply holds that the sources hold what each defect replaces, also where only a
// sample of the builds is made.
func TestBrokenBuildsApply(t *testing.T) {
	for _, edits := range brokenBuilds {
		editSources(t, edits)
	}
}

// buildBroken compiles rkat with edits and returns the folder that holds it.
func buildBroken(t *testing.T, edits []sourceEdit) string {
	t.Helper()
	dir, root := editSources(t, edits)
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", dir+"/", "./cmd/rkat")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// editSources writes the edited files and overlay.json, which names them, into a folder. root is
// the folder of the sources.
func editSources(t *testing.T, edits []sourceEdit) (dir, root string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	sources := map[string]string{}
	for _, e := range edits {
		file := filepath.Join(root, e.file)
		if _, known := sources[file]; !known {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources[file] = string(text)
		}
		if n := strings.Count(sources[file], e.old); n != 1 {
			t.Fatalf("%s: holds %d times what the defect replaces; bring brokenBuilds in line with it:\n%s", e.file, n, e.old)
		}
		sources[file] = strings.Replace(sources[file], e.old, e.with, 1)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range sources {
		changed := filepath.Join(dir, strconv.Itoa(len(overlay.Replace))+".go")
		overlay.Replace[file] = changed
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
