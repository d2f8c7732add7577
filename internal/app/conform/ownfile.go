package conform

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/conform/evidence"
)

// sourceFile matches the name of a file that people write, by its ending.
const sourceFile = `[^\s"'()]+\.(?:[cm]?[jt]sx?|py|go|rb|php|java|kt|rs|cs|sh)`

var (
	isSource = regexp.MustCompile(`^` + sourceFile + `$`)
	// stackFrame matches a frame as Node, Python, Go and Ruby print it.
	stackFrame = regexp.MustCompile(`(` + sourceFile + `)"?(:|, line )(\d+)`)
)

const maxFrames = 100

// ownFile returns the path below this folder of a file that stands here or in the agent's folder,
// where the agent may know it by another one; "" for a file of others.
func ownFile(workdir, path string) string {
	parts := strings.Split(filepath.ToSlash(filepath.Clean(path)), "/")
	if slices.Contains(parts, "node_modules") || slices.Contains(parts, "site-packages") {
		return ""
	}
	here, err := os.Getwd()
	if err != nil {
		return ""
	}
	for i := range parts {
		full, err := filepath.Abs(filepath.Join(workdir, filepath.FromSlash(strings.Join(parts[i:], "/"))))
		below, errRel := filepath.Rel(here, full)
		if info, errStat := os.Stat(full); err == nil && errRel == nil && errStat == nil && info.Mode().IsRegular() && filepath.IsLocal(below) {
			return filepath.ToSlash(below)
		}
	}
	return ""
}

// agentFile is the file of this folder that the agent's command line names, "" where it names none.
func (f *runFlags) agentFile() string {
	words := f.command
	if _, argv, err := splitConversation(f.name); err == nil && argv != nil {
		words = argv
	} else if profile, err := f.chosenProfile(); err == nil && profile != nil {
		_, argv := profile.Command()
		words = nil
		for _, word := range argv {
			words = append(words, strings.ReplaceAll(string(word), "{profile_dir}", profile.Dir()))
		}
	}
	for _, word := range words {
		if file := ownFile(f.workdir, word); file != "" && isSource.MatchString(file) {
			return file
		}
	}
	return ""
}

// ownLine is the line of a file of this folder, as FILE:LINE, that the agent's last stack names; ""
// without a stack. The innermost frame stands first in all languages but Python.
func ownLine(workdir string, ev *evidence.Evidence) (line string) {
	if ev == nil {
		return ""
	}
	for _, p := range ev.Process {
		of := ""
		for _, m := range stackFrame.FindAllSubmatch(p.Stderr, maxFrames) {
			if isPython := string(m[2]) != ":"; of != "" && !isPython {
				break
			}
			if file := ownFile(workdir, string(m[1])); file != "" {
				of = file + ":" + string(m[3])
			}
		}
		if of != "" {
			line = of
		}
	}
	return line
}

// workflowFile is the file of the workflow that GITHUB_WORKFLOW_REF names:
// owner/repository/.github/workflows/x.yml@refs/heads/main.
func workflowFile(ref string) string {
	path, _, _ := strings.Cut(ref, "@")
	if parts := strings.SplitN(path, "/", 3); len(parts) == 3 {
		return parts[2]
	}
	return ""
}
