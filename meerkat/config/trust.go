package config

import (
	"fmt"
	"path/filepath"
	"slices"
)

// TrustError says that a project's file sets what only a trusted one may.
type TrustError struct {
	Path, Key, Risk string
}

// Error says what to do.
func (e *TrustError) Error() string {
	return fmt.Sprintf(
		"%s: %s: %s; take it out, or trust the project: --trust-project, or its folder in trusted_projects of your own config.toml",
		e.Path, e.Key, e.Risk,
	)
}

// isTrusted reports whether the user trusts the project of the file at path.
func (l *Loaded) isTrusted(path string) bool {
	folders, _ := l.layers.Get(trustedProjects).([]string)
	project := filepath.Dir(filepath.Dir(path))
	return slices.ContainsFunc(folders, func(f string) bool { return filepath.Clean(f) == project })
}
