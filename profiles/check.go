package profiles

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/wires"
)

var variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// rules are those that the tags of a profile name.
var rules = map[string]datafile.Rule{
	"name": datafile.Matching(regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`),
		"a name; use letters, digits, dots and dashes"),
	"provider": func(path, text string) error { return datafile.OneOf(wires.Names()...)(path, text) },
	"filled":   checkFilled,
	"variable": datafile.Matching(variablePattern, "the name of a variable"),
	"regexp": func(_, text string) error {
		_, err := regexp.Compile(text)
		return err
	},
	"cases": func(_, text string) error {
		if _, err := path.Match(text, ""); err != nil {
			return fmt.Errorf("%q is not a pattern of case names; * stands for any part", text)
		}
		return nil
	},
	"file": func(_, text string) error {
		if filepath.IsLocal(text) {
			return nil
		}
		return fmt.Errorf("%q leads out of HOME; files are written below it", text)
	},
	"template": func(path, text string) error {
		if strings.ContainsRune(text, 0) {
			return errors.New("holds a NUL byte, which no argument and no variable can hold")
		}
		return Template(text).CheckIn(structuralKeys(path)...)
	},
}

// structuralKeys are the keys of a path that the format defines, without those that
// the author chose: names of variables and files.
func structuralKeys(path string) (keys []string) {
	for key := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' }) {
		if slices.Contains([]string{"env", "files", "args"}, key) {
			break
		}
		keys = append(keys, key)
	}
	return keys
}

// IsVariable reports whether name can be that of an environment variable.
func IsVariable(name string) bool { return variablePattern.MatchString(name) }

// checkProfile finds keys that do not fit together.
func checkProfile(f *datafile.File, p *Profile) {
	f.AddUnless(p.Resume == nil || p.ACP == nil && p.Driver == nil, "resume",
		"only run has a command for it; an agent of acp or driver resumes by its protocol")
	f.AddUnless(p.Providers == nil || len(p.Providers) > 0, "providers", "names no provider")
	for key, argv := range map[string][]Template{"run": p.Run, "resume": p.Resume, "version": p.Version, "acp": p.ACP,
		"driver": p.Driver} {
		f.AddUnless(len(argv) == 0 || strings.TrimSpace(string(argv[0])) != "", key,
			"the program is empty; name it first")
	}
	s := p.Session
	if s == nil {
		f.AddUnless(!namesSession(p.Resume) && !namesSession(p.Run), "resume",
			`{session} is used, and key "session" does not say how the id is found; e.g. session: {from: stdout, pattern: 'session: (\S+)'}`)
		return
	}
	switch isGiven := s.From == "given"; {
	case isGiven && s.Pattern != "":
		f.Add("session.pattern", "there is nothing to look for in an id that conform gives")
	case isGiven && !namesSession(p.Run):
		f.Add("session", "conform gives the id, and run does not name it as {session}")
	case !isGiven && s.From != "" && s.Pattern == "":
		f.Add("session", `key "session.pattern" is missing`)
	case !isGiven && namesSession(p.Run):
		f.Add("run", "{session} is not known before the first process has ended; use session: {from: given}")
	}
}

func namesSession(argv []Template) bool {
	return slices.ContainsFunc(argv, func(t Template) bool { return t.Has("session") })
}
