package conform

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// TestOwnLine holds that a stack leads to the agent's own file and to no file of a library.
func TestOwnLine(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"src/loop.mjs", "src/agent.py", "node_modules/sdk/index.mjs"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for stack, want := range map[string]string{
		"Error: 400\n    at APIError.generate (file:///tmp/r/node_modules/sdk/index.mjs:9:1)\n    at loop (file:///tmp/r/work/src/loop.mjs:42:7)\n    at main (/tmp/r/src/loop.mjs:3:1)": "src/loop.mjs:42",
		"  File \"/tmp/r/src/agent.py\", line 3, in <module>\n  File \"/tmp/r/src/agent.py\", line 17, in ask\n  File \"/usr/lib/sdk.py\", line 4":                                       "src/agent.py:17",
		"see ../other.mjs:3 and notes.txt:4": "",
	} {
		ev := &evidence.Evidence{Process: []evidence.Process{{Stderr: []byte(stack)}}}
		if got := ownLine("", ev); got != want {
			t.Errorf("%q, want %q, in\n%s", got, want, stack)
		}
	}
	f := runFlags{}
	f.command = []string{"node", "loop.mjs", "{prompt}"}
	if f.workdir, f.name = "src", rkatSubject; f.agentFile() != "src/loop.mjs" {
		t.Error(f.agentFile())
	}
	if got := workflowFile("o/r/.github/workflows/conform.yml@refs/heads/main"); got != ".github/workflows/conform.yml" {
		t.Error(got)
	}
}
