// Package version knows which build this is.
package version

import "runtime/debug"

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
