package serve

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
)

// The modes of run. Each is a command, too; record-missing is record --missing.
const (
	modeRecord  = "record"
	modeMissing = "record-missing"
	modeReplay  = "replay"
	modeRefresh = "refresh"
	modePass    = "pass"
)

var modes = []string{modeRecord, modeMissing, modeReplay, modeRefresh, modePass}

// modeActivity is what a mode does, as it is printed after the name of the cassette.
var modeActivity = map[string]string{
	modeRecord:  "recording",
	modeMissing: "recording what is missing",
	modeReplay:  "replaying",
	modeRefresh: "recording afresh",
	modePass:    "passing everything on, keeping nothing,",
}

// setMode sets the mode where the command line does not. In CI it is replay, so that nothing is
// sent unless that is asked for.
func (f *modeFlags) setMode(ci bool) {
	switch {
	case f.missing:
		f.mode = modeMissing
	case f.mode == "" && ci:
		f.mode = modeReplay
	case f.mode == "":
		f.mode = modeRecord
	}
}

// inCI reports whether a CI service runs this program: all of them set CI.
func (a *app) inCI() bool {
	return !slices.Contains([]string{"", "0", "false"}, strings.ToLower(a.Getenv("CI")))
}

func (a *app) recordCommand() *cobra.Command {
	return a.modeCommand(&modeFlags{mode: modeRecord}, "record --cassette F", "Record the traffic of programs that are pointed at the proxy, until interrupted")
}

func (a *app) replayCommand() *cobra.Command {
	return a.modeCommand(&modeFlags{mode: modeReplay}, "replay --cassette F", "Answer programs that are pointed at the proxy from a cassette, until interrupted")
}

func (a *app) refreshCommand() *cobra.Command {
	f := &modeFlags{mode: modeRefresh}
	return a.withCheck(a.modeCommand(f, "refresh --cassette F", "Record a cassette again, show what changed, then put it in the old one's place"), f)
}

func (a *app) passCommand() *cobra.Command {
	return a.modeCommand(&modeFlags{mode: modePass}, "pass", "Pass everything on to the providers and keep nothing, until interrupted")
}

var modeExamples = map[string]string{
	modeRecord:  "  recorder record --cassette loop.yaml --env-file proxy.env",
	modeReplay:  "  recorder replay --cassette loop.yaml --env-file proxy.env",
	modeRefresh: "  recorder refresh --cassette loop.yaml\n  recorder refresh --check --cassette loop.yaml",
	modePass:    "  recorder pass --ingress mitm,base-url",
}

// modeCommand returns the command that runs the mode of f for programs started elsewhere.
func (a *app) modeCommand(f *modeFlags, use, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cli.NoArgs, Example: modeExamples[f.mode],
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveMode(cmd.Context(), f, cli.GivenFlags(cmd)) },
	}
	f.addTo(cmd)
	return cmd
}
