package subject

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/profiles"
)

const (
	versionTimeout = 20 * time.Second
	// maxVersion bounds what is kept of a version, in bytes.
	maxVersion = 80
)

// versionCommand is what prints the version of an agent: that of the profile, else the
// program with --version. It is nil for a program that is text, as of sh -c.
func versionCommand(p *profiles.Profile) []string {
	if p.Version != nil {
		return templateTexts(p.Version)
	}
	if p.Path != "" || p.Run == nil {
		_, command := p.Command()
		return []string{string(command[0]), "--version"}
	}
	argv := templateTexts(p.Run)
	if _, interprets := interpreterFlags(argv[0]); interprets && scriptIndex(argv) == 0 {
		return nil
	}
	return append(argv[:scriptIndex(argv)+1:scriptIndex(argv)+1], "--version")
}

func templateTexts(command []profiles.Template) []string {
	list := make([]string, len(command))
	for i, t := range command {
		list[i] = string(t)
	}
	return list
}

// findVersion asks an agent for its version, "" when it does not say one.
func findVersion(ctx context.Context, p *profiles.Profile, room harness.Room) string {
	pl := newPlan(p, room)
	argv := versionCommand(p)
	if argv == nil {
		return ""
	}
	env, err := pl.fillEnvironment()
	if err != nil {
		return ""
	}
	for i := range argv {
		if argv[i], err = profiles.Template(argv[i]).Fill(pl.values); err != nil {
			return ""
		}
	}
	argv[0] = programPath(p, argv[0])
	result, err := room.Sandbox.Run(ctx, isolate.Command{Args: argv, Env: env, Dir: room.Work, Limits: isolate.Limits{Time: versionTimeout, Output: 1 << 16}})
	if err != nil || result.ExitCode != 0 {
		return ""
	}
	return versionIn(string(result.Stdout) + "\n" + string(result.Stderr))
}

// versionPatterns find a version: one with dots, else anything that begins with a digit.
var versionPatterns = []*regexp.Regexp{regexp.MustCompile(`[0-9]+\.[0-9]+[0-9A-Za-z.+-]*`), regexp.MustCompile(`\b[0-9][0-9A-Za-z.+-]*`)}

// versionIn is the first version in a text.
func versionIn(text string) string {
	for _, pattern := range versionPatterns {
		if found := pattern.FindString(text); found != "" {
			return harness.PrintableLine(strings.TrimRight(found, "."), maxVersion)
		}
	}
	return ""
}

// missingProgram says why the program of a command cannot be started, "" when it can.
func missingProgram(p *profiles.Profile, program, path string) string {
	full := programPath(p, program)
	if isPath(full) {
		info, err := os.Stat(full)
		switch {
		case err != nil:
			return "there is no such file; check the path"
		case info.IsDir():
			return "is a folder; name the program in it"
		case info.Mode()&0o111 == 0:
			return "is not executable; run: chmod +x " + full + ", or put its interpreter in front"
		}
		return ""
	}
	for _, dir := range filepath.SplitList(path) {
		if _, err := exec.LookPath(filepath.Join(dir, full)); err == nil {
			return ""
		}
	}
	if info, err := os.Stat(full); err == nil && !info.IsDir() {
		return "is not in PATH; a file of this folder is written ./" + full
	}
	if p.Install != nil && len(p.Install.NPM) > 0 {
		return "is not in PATH; install it with: npm install -g " + strings.Join(p.Install.NPM, " ")
	}
	return "is not in PATH; install it, or give its path"
}
