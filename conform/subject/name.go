package subject

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// interpreters are programs that run another one, which is the agent: the pattern of
// their base names, and those of their flags that take a value.
var interpreters = []struct {
	name   *regexp.Regexp
	valued []string
}{
	{regexp.MustCompile(`^(node|nodejs|bun|deno|tsx|ts-node)$`), []string{"-r", "--require", "--import", "--loader", "--env-file", "-C", "--conditions"}},
	{regexp.MustCompile(`^(python|pypy)[0-9.]*$`), []string{"-W", "-X"}},
	{regexp.MustCompile(`^(npx|bunx|pnpx|uvx|pipx)$`), []string{"-p", "--package", "--from", "--with", "--python"}},
	{regexp.MustCompile(`^(npm|pnpm|yarn|uv|poetry|go|cargo)$`), []string{"--project", "--directory", "--prefix", "--python", "--with"}},
	{regexp.MustCompile(`^(sh|bash|dash|zsh|ruby|perl|php|lua|Rscript|java|dotnet)$`), nil},
	{regexp.MustCompile(`^(env|nice|timeout|stdbuf|nohup|time)$`), []string{"-u", "-n"}},
}

// subcommands are words between an interpreter and the program that it runs.
var subcommands = []string{"run", "exec", "x", "tool", "dlx"}

// scriptIndex is where the command names the program that an interpreter runs, 0 for
// a command that is a program itself.
func scriptIndex(argv []string) int {
	at := 0
	for {
		valued, ok := interpreterFlags(argv[at])
		if !ok {
			return at
		}
		next := programAfter(argv, at, valued)
		if next == 0 {
			return at
		}
		at = next
	}
}

func interpreterFlags(program string) (valued []string, ok bool) {
	base := strings.TrimSuffix(filepath.Base(program), ".exe")
	for _, i := range interpreters {
		if i.name.MatchString(base) {
			return i.valued, true
		}
	}
	return nil, false
}

// programAfter is the index of the first argument behind at that is neither a flag, a
// flag's value, a variable nor a subcommand; 0 when there is none.
func programAfter(argv []string, at int, valued []string) int {
	for i := at + 1; i < len(argv); i++ {
		arg := argv[i]
		switch {
		case slices.Contains(valued, arg):
			i++
		case arg == "-c" || arg == "-e" || arg == "--eval" || strings.Contains(arg, "{prompt}"):
			return 0 // the program is text
		case strings.HasPrefix(arg, "-"), slices.Contains(subcommands, arg), variableAssignment.MatchString(arg), duration.MatchString(arg):
		default:
			return i
		}
	}
	return 0
}

var (
	variableAssignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	duration           = regexp.MustCompile(`^[0-9.]+[smhd]?$`)
	unnameable         = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	packageVersion     = regexp.MustCompile(`(.)@[^/@]*$`)
)

// extensions are dropped from the names of programs.
var extensions = []string{".mjs", ".cjs", ".js", ".mts", ".cts", ".ts", ".tsx", ".py", ".rb", ".pl", ".php", ".sh", ".bash", ".jar", ".exe", ".cmd", ".bat", ".dll", ".go"}

// commandName is what reports call the agent of a command line: the base name of its
// program, or of the script that an interpreter runs.
func commandName(argv []string) string {
	name := filepath.Base(filepath.ToSlash(packageVersion.ReplaceAllString(argv[scriptIndex(argv)], "$1")))
	if ext := filepath.Ext(name); ext != name && slices.Contains(extensions, ext) {
		name = strings.TrimSuffix(name, ext)
	}
	name = strings.TrimLeft(unnameable.ReplaceAllString(name, "-"), "._-")
	if name == "" {
		return "agent"
	}
	return name
}
