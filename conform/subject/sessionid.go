package subject

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/conform/evidence"
	"github.com/meerkat-go/conformance/profiles"
)

// maxSessionFiles bounds how many files below HOME are looked at for an id.
const maxSessionFiles = 10_000

// findSession returns the id of the session that a process left, "" when there is
// none.
func findSession(s profiles.Session, p evidence.Process, home string) string {
	pattern, err := regexp.Compile(s.Pattern)
	if err != nil {
		return "" // the profile was checked when it was loaded
	}
	switch s.From {
	case "stdout":
		return lastMatch(pattern, p.Stdout)
	case "stderr":
		return lastMatch(pattern, p.Stderr)
	case "output":
		return cmp.Or(lastMatch(pattern, p.Stdout), lastMatch(pattern, p.Stderr))
	case "file":
		for _, path := range newestFiles(home) {
			if id := lastMatch(pattern, []byte(path)); id != "" {
				return id
			}
		}
	}
	return ""
}

// lastMatch is the first group of the last match, or all of it.
func lastMatch(pattern *regexp.Regexp, text []byte) string {
	all := pattern.FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return ""
	}
	groups := all[len(all)-1]
	if len(groups) > 1 {
		return string(groups[1])
	}
	return string(groups[0])
}

// newestFiles lists the files below a folder by their paths in it, with slashes,
// the newest first.
func newestFiles(dir string) []string {
	type file struct {
		path string
		at   time.Time
	}
	var files []file
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || len(files) >= maxSessionFiles {
			return nil //nolint:nilerr // what cannot be read names no session
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // the file is gone
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			files = append(files, file{filepath.ToSlash(name), info.ModTime()})
		}
		return nil
	})
	slices.SortStableFunc(files, func(a, b file) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.path, b.path)) })
	paths := make([]string, len(files))
	for i, f := range files {
		paths[i] = f.path
	}
	return paths
}
