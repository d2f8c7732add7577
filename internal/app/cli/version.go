package cli

import (
	"runtime/debug"
	"slices"
)

// ReleaseVersion is set by a release build with -ldflags -X; "" otherwise.
var ReleaseVersion string

// Version returns the version of this build: that of the release, else the module
// version or revision that the toolchain stamped, else "devel".
func Version() string {
	if ReleaseVersion != "" {
		return ReleaseVersion
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

// ModuleVersions returns the versions of those of the named modules that this
// build is made of, by module path.
func ModuleVersions(paths ...string) map[string]string {
	found := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	for i := 0; ok && i < len(info.Deps); i++ {
		if m := info.Deps[i]; slices.Contains(paths, m.Path) {
			found[m.Path] = m.Version
		}
	}
	return found
}
