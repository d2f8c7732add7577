package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestREADME runs the commands of the console blocks in README.md, with the
// files that the repository ships, and holds that they print what it shows.
// Commands that build or test the whole tree stand outside of such blocks.
func TestREADME(t *testing.T) { runShownCommands(t, "../../README.md", 9) }

// TestOwnRules is TestREADME for the guide that shows a team's rules.
func TestOwnRules(t *testing.T) { runShownCommands(t, "../../docs/guides/own-rules.md", 1) }

// TestVCR is TestREADME for the guide that shows an edit of a cassette by hand.
func TestVCR(t *testing.T) { runShownCommands(t, "../../docs/guides/vcr.md", 4) }

// TestProviderAnswers400 is TestREADME for the guide from a HAR to the byte and the fix.
func TestProviderAnswers400(t *testing.T) {
	runShownCommands(t, "../../docs/guides/provider-answers-400.md", 4)
}

// TestJudgeYourAgent is TestREADME for the guides that show agents for Node.
func TestJudgeYourAgent(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	runShownCommands(t, "../../docs/guides/judge-your-agent.md", 3)
	runShownCommands(t, "../../docs/guides/judge-your-chat-agent.md", 3)
}

// TestHostileReply is TestREADME for the guide that shows a hostile reply.
func TestHostileReply(t *testing.T) { runShownCommands(t, "../../docs/guides/rkat.md", 3) }

// TestServers is TestREADME for the guides of rkat's servers.
func TestServers(t *testing.T) {
	runShownCommands(t, "../../docs/guides/mcp-server.md", 2)
	runShownCommands(t, "../../docs/guides/editors.md", 1)
	runShownCommands(t, "../../docs/guides/sub-agents.md", 2)
}

// TestREST is TestREADME for the guide of rkat serve.
func TestREST(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	runShownCommands(t, "../../docs/guides/rest.md", 12)
}

// runShownCommands runs the commands of a document, at least so many.
func runShownCommands(t *testing.T, document string, least int) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	shown := consoleCommands(string(text))
	if len(shown) < least {
		t.Fatalf("%d commands found in %s; the test would prove little", len(shown), document)
	}
	dir := readmeFolder(t)
	env := []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}
	for _, c := range shown {
		if setting, ok := strings.CutPrefix(c.command, "export "); ok {
			env = append(env, setting)
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, "sh", "-c", c.command)
		cmd.Dir, cmd.Env = dir, env
		out, _ := cmd.CombinedOutput() // a failing verdict is part of what is shown
		cancel()
		if !matchesShown(c.output, printedLines(string(out))) {
			t.Errorf("$ %s\nthe document shows:\n%s\n\nit printed:\n%s", c.command, strings.Join(c.output, "\n"), out)
		}
	}
}

// printedLines returns the lines of an output, none if it is empty.
func printedLines(out string) []string {
	if out = strings.TrimSpace(out); out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

// readmeFolder makes a folder in which the README's relative paths work: bin/
// holds the commands, docs/ is the repository's.
func readmeFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	docs, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(docs, filepath.Join(dir, "docs")); err != nil {
		t.Fatal(err)
	}
	conform, err := exec.LookPath("conform")
	if err == nil {
		err = os.Symlink(filepath.Dir(conform), filepath.Join(dir, "bin"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// shownCommand is a command of a document with the output that it shows.
type shownCommand struct {
	command string
	output  []string
}

// consoleCommands returns the commands of the blocks marked console. A clone
// that runs the program from its source prints the same as its binary.
func consoleCommands(markdown string) (all []shownCommand) {
	inside := false
	for line := range strings.Lines(markdown) {
		line = strings.TrimRight(line, "\n")
		switch command, isCommand := strings.CutPrefix(line, "$ "); {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case inside && isCommand:
			all = append(all, shownCommand{command: strings.Replace(command, "go run ./cmd/", "bin/", 1)})
		case inside && len(all) > 0:
			last := &all[len(all)-1]
			last.output = append(last.output, line)
		}
	}
	return all
}

// matchesShown compares what was printed with what is shown, where a line … is
// any number of lines.
func matchesShown(shown, printed []string) bool {
	switch {
	case len(shown) == 0:
		return len(printed) == 0
	case shown[0] == "…":
		for skip := range len(printed) + 1 {
			if matchesShown(shown[1:], printed[skip:]) {
				return true
			}
		}
		return false
	case len(printed) == 0:
		return false
	}
	return strings.TrimRight(shown[0], " ") == strings.TrimRight(printed[0], " ") &&
		matchesShown(shown[1:], printed[1:])
}

func TestMatchesShown(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		want           bool
	}{
		{"a\nb", "a\nb", true},
		{"a\n…", "a\nb\nc", true},
		{"…\nc", "a\nb\nc", true},
		{"a\n…\nc", "a\nc", true},
		{"a", "a\nb", false},
		{"a\n…\nd", "a\nb\nc", false},
		{"b", "a", false},
	} {
		if got := matchesShown(strings.Split(c.shown, "\n"), strings.Split(c.printed, "\n")); got != c.want {
			t.Errorf("%q shown, %q printed: %v", c.shown, c.printed, got)
		}
	}
}
