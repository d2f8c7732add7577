package recorder

import (
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/replay"
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
	return a.modeCommand(&modeFlags{mode: modeRecord}, "record --cassette F",
		"Record the traffic of programs that are pointed at the proxy, until interrupted")
}

func (a *app) replayCommand() *cobra.Command {
	return a.modeCommand(&modeFlags{mode: modeReplay}, "replay --cassette F",
		"Answer programs that are pointed at the proxy from a cassette, until interrupted")
}

func (a *app) refreshCommand() *cobra.Command {
	f := &modeFlags{mode: modeRefresh}
	return a.withCheck(a.modeCommand(f, "refresh --cassette F",
		"Record a cassette again, show what changed, then put it in the old one's place"), f)
}

func (a *app) passCommand() *cobra.Command {
	return a.modeCommand(&modeFlags{mode: modePass}, "pass",
		"Pass everything on to the providers and keep nothing, until interrupted")
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

// modesOfFlag names the modes in which a flag has a use. Flags that are not listed have a use in
// all.
var modesOfFlag = map[string][]string{
	"speed":            {modeReplay, modeMissing},
	"match":            {modeReplay, modeMissing},
	"receipt":          {modeReplay},
	"allow-unused":     {modeReplay},
	"strict":           {modeReplay},
	"max-age":          {modeReplay},
	"seed":             {modeReplay},
	"rechunk":          {modeReplay},
	"faults":           {modeReplay},
	"force":            {modeRecord},
	"learn":            {modeRecord},
	"no-swap":          {modeRefresh},
	"on-abort":         {modeRecord, modeMissing, modeRefresh},
	"allow-incomplete": {modeRecord, modeMissing, modeRefresh},
	"max-body":         {modeRecord, modeMissing, modeRefresh, modeReplay},
	"scrub":            {modeRecord, modeMissing, modeRefresh, modeReplay},
	"exempt":           {modeRecord, modeMissing, modeRefresh},
	"on-secret":        {modeRecord, modeMissing, modeRefresh},
	"redact":           {modeRecord, modeMissing, modeRefresh, modeReplay},
	"keep":             {modeRecord, modeMissing, modeRefresh, modeReplay},
	"websocket":        {modeRecord, modeMissing, modeRefresh, modePass},
	"upstream":         {modeRecord, modeMissing, modeRefresh, modePass},
	"upstream-ca":      {modeRecord, modeMissing, modeRefresh, modePass},
	"upstream-proxy":   {modeRecord, modeMissing, modeRefresh, modePass},
}

// uselessReason explains why a flag has no use in the modes that record.
var uselessReason = map[string]string{
	"rechunk": "a recording holds the chunks that were sent; record without, and replay with --rechunk",
	"faults":  "a recording holds what was sent; record without, and replay with --faults",
}

// chooseMode sets the mode, and refuses flags of the command line that would do nothing in it.
// When the variable CI decides the mode, such a flag is only reported, because the same command
// line has to work with and without CI.
func (a *app) chooseMode(f *modeFlags, given []string) error {
	named := f.mode != ""
	f.setMode(a.inCI())
	for _, name := range given {
		useful, limited := modesOfFlag[name]
		if !limited || slices.Contains(useful, f.mode) || !slices.Contains(modes, f.mode) {
			continue
		}
		if !named && uselessReason[name] == "" {
			a.Say("--%s: does nothing in mode %s; it goes with %s", name, f.mode, strings.Join(useful, ", "))
			continue
		}
		if uselessReason[name] != "" {
			return cli.Usage("--%s: %s", name, uselessReason[name])
		}
		return cli.Usage("--%s: does nothing in mode %s; it goes with %s", name, f.mode, strings.Join(useful, ", "))
	}
	return nil
}

// modeEnv is what the cassettes of one proxy have in common.
type modeEnv struct {
	*app
	*Redaction
	flags      *modeFlags
	transport  http.RoundTripper // nil in replay, which sends nothing
	provenance string            // of what is recorded
	faults     faultSettings     // of a replay
	scrubs     replay.Scrubs
	here       replay.Place // where the program runs
}

func (a *app) newModeEnv(f *modeFlags) (*modeEnv, error) {
	via, err := a.upstreamProxy(f)
	if err != nil {
		return nil, err
	}
	redacts, err := a.Redaction(f.own, f.exempt, append(f.callers.secretValues(), passwordOf(via)...)...)
	if err != nil {
		return nil, err
	}
	k := &modeEnv{app: a, Redaction: redacts, flags: f, here: a.Here()}
	if k.scrubs, err = f.scrubRules(); err != nil {
		return nil, err
	}
	if f.mode == modeReplay {
		k.faults, err = a.readFaults(&f.faults)
		return k, err
	}
	a.own = redacts.Own()
	bases, err := f.upstreamBases()
	if err != nil {
		return nil, err
	}
	if via == nil && len(bases) == 0 {
		a.sayUnusedProxy()
	}
	roots, err := a.upstreamRoots(f)
	if err != nil {
		return nil, err
	}
	k.provenance = recordingProvenance(len(bases) > 0 || f.upstreamCA != "")
	if k.transport, err = proxy.NewTransportVia(bases, roots, via); err != nil {
		return nil, cli.Usage("%w", err)
	}
	return k, nil
}

// recordingProvenance returns the provenance of a recording: live where the providers' own hosts
// answer. With hasUpstream they may not: the authority of a local upstream can sign for any
// host.
func recordingProvenance(hasUpstream bool) string {
	if hasUpstream {
		return cassette.ProvenanceSynthetic
	}
	return cassette.ProvenanceLive
}

// openCassette opens the cassette at path for the mode of the run.
func (k *modeEnv) openCassette(path, receipt string) (modeHandler, error) {
	h, err := k.openMode(path, receipt)
	if err != nil {
		return nil, err // a nil interface, not one that holds a nil pointer
	}
	return h, nil
}

func (k *modeEnv) openMode(path, receipt string) (modeHandler, error) {
	switch k.flags.mode {
	case modeReplay:
		return k.openReplay(path, receipt)
	case modeMissing:
		return k.openRecordMissing(path)
	case modeRefresh:
		return k.openRefresh(path)
	case modePass:
		return k.openPassthrough()
	default:
		return k.openRecording(path, k.flags.force)
	}
}

// newRecorder returns a recorder that keeps interactions in w, or nothing when w is nil. old is
// the cassette that w extends, nil for none.
func (k *modeEnv) newRecorder(w *cassette.Writer, old *cassette.Cassette) (*record.Recorder, error) {
	clients, err := newClients(k.flags.isRun, old)
	if err != nil {
		return nil, err
	}
	here := k.placeToNote(old)
	note := func(r *http.Request, in *cassette.Interaction) {
		clients.noteClient(r, in)
		in.Place = here
	}
	cfg := record.Config{Transport: k.transport, Provenance: k.provenance, Note: note,
		OnAbort: record.Drain(k.flags.onAbort),
		MaxBody: int64(k.flags.maxBody), AllowIncomplete: k.flags.allowIncomplete,
		WholeOnly: k.flags.mode == modeMissing}
	if w != nil {
		cfg.Writer, cfg.Redactor, cfg.Gate = w, k.Guard.Watch(k.Redactor), k.Guard.Check
		if k.flags.onSecret.IsMasked {
			cfg.Mask = k.Mask
		}
		w.Revise(k.LastLook)
	}
	return record.New(cfg)
}

// newReplayer returns a replayer of recording. Requests without a recorded answer go to fallback;
// when that is nil, they are refused.
func (k *modeEnv) newReplayer(recording *cassette.Cassette, fallback http.Handler) (*replay.Replayer, error) {
	replayer, err := replay.New(replay.Config{Cassette: recording, Redactor: k.Redactor, Mask: k.MaskRequest,
		Timing:  replay.Timing(k.flags.speed),
		MaxBody: int64(k.flags.maxBody), Match: replay.Level(k.flags.match), Scrubs: k.scrubs, Here: k.here,
		Record:  "recorder run --mode record-missing --cassette " + terminal.ShellWord(recording.Name()) + " -- CMD…",
		Rechunk: k.faults.rechunk, Faults: k.faults.faults, Seed: k.faults.seed,
		Fallback: fallback, Log: func(line string) { k.Say("%s", line) }})
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	return replayer, nil
}

// outcome counts what happened with one cassette.
type outcome struct {
	served, recorded, missed, unused int
	exit                             int
}

// bySeverity lists the exit codes, the worst last.
var bySeverity = []int{ExitOK, ExitIncomplete, ExitGate, ExitUsage, ExitInternal}

// worseExit returns the worse of two exit codes.
func worseExit(a, b int) int {
	if slices.Index(bySeverity, b) > slices.Index(bySeverity, a) {
		return b
	}
	return a
}
