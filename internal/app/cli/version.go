package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/specs"
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
	if commit := buildSetting(info, "vcs.revision"); len(commit) >= 12 {
		return commit[:12]
	}
	return "devel"
}

// documents lists the schemas of the documents that this build writes and reads. A test holds it
// against package schemas, which is too large to be linked for its names.
var documents = []string{
	"conform.baseline.v1", "conform.check.v2", "conform.explain.v1", "conform.init.v1", "conform.inspector.v1",
	"conform.lint.v1", "conform.list.v2", "conform.matrix.v1", "conform.observe.v1", "conform.ready.v1",
	"conform.report.v2", "conform.selftest.v1", "conform.site.v1",
	"recorder.ca.v1", "recorder.diff.v1", "recorder.doctor.v1", "recorder.drift.v1", "recorder.faults.v1",
	"recorder.inspect.v1", "recorder.interaction.v1", "recorder.ready.v1", "recorder.receipt.v1",
	"recorder.verify.v1", "recorder.written.v1",
	"rkat.doctor.v1", "rkat.event.v1", "rkat.models.v1", "rkat.render.v1", "rkat.result.v1", "rkat.session.v1",
	"rkat.sessions.v1",
	"driver.v1", "profile.v1", "requirement.v2", "rules.v1", "scenario.v1", "version.v1",
}

// build is what the command version prints, as version.v1.
type build struct {
	Schema   string   `json:"schema"`
	Program  string   `json:"program"`
	Version  string   `json:"version"`
	Commit   string   `json:"commit,omitempty"` // empty if the toolchain stamped none
	Date     string   `json:"date,omitempty"`   // of the commit
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Sets     []string `json:"sets"` // of the catalogue, the current one first
	Schemas  []string `json:"schemas"`
}

func buildSetting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

func (f *Frame) versionCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Say which build this is: commit, date, catalogue and formats", Args: NoArgs,
		Long: "Say which build this is: its version and commit, the sets of requirements that it judges by, and the\n" +
			"schemas of the documents that it writes and reads. All programs of a release say the same.",
		Example: fmt.Sprintf("  %s version --json", f.Program.Name),
		RunE: func(*cobra.Command, []string) error {
			b := build{Schema: "version.v1", Program: f.Program.Name, Version: Version(), Go: runtime.Version(),
				Platform: runtime.GOOS + "/" + runtime.GOARCH, Sets: specs.SetNames(), Schemas: documents}
			if info, ok := debug.ReadBuildInfo(); ok {
				b.Commit, b.Date = buildSetting(info, "vcs.revision"), buildSetting(info, "vcs.time")
			}
			if asJSON {
				return f.WriteJSON(b)
			}
			f.Print("%s %s\n", b.Program, b.Version)
			if b.Commit != "" {
				f.Print("commit     %s of %s\n", b.Commit, b.Date)
			}
			f.Print("built by   %s for %s\n", b.Go, b.Platform)
			f.Print("catalogue  %s\n", strings.Join(b.Sets, ", "))
			f.Print("formats    %s\n", strings.Join(WrapWords(strings.Join(b.Schemas, ", "), 88), "\n           "))
			return nil
		},
	}
	AddJSONFlag(cmd, &asJSON)
	return cmd
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
