// Package version knows which build this is.
package version

import (
	"runtime/debug"
	"slices"
)

// Version is set by the release build with -ldflags -X; empty otherwise.
var Version string

// String returns the release version, else the module version or revision the
// toolchain stamped, else "devel".
func String() string {
	if Version != "" {
		return Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return "devel"
}

// Modules returns the versions of those of the named modules that this build is
// made of.
func Modules(paths ...string) map[string]string {
	found := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	for i := 0; ok && i < len(info.Deps); i++ {
		if m := info.Deps[i]; slices.Contains(paths, m.Path) {
			found[m.Path] = m.Version
		}
	}
	return found
}
