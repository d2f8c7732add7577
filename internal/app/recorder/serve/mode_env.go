package serve

import (
	"net/http"
	"slices"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// modeEnv is what the cassettes of one proxy have in common.
type modeEnv struct {
	*app
	*recorderenv.Redaction
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
	cfg := record.Config{Transport: k.transport, Provenance: k.provenance, Note: note, OnAbort: record.Drain(k.flags.onAbort),
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
	replayer, err := replay.New(replay.Config{Cassette: recording, Redactor: k.Redactor, Mask: k.MaskRequest, Timing: replay.Timing(k.flags.speed),
		MaxBody: int64(k.flags.maxBody), Match: replay.Level(k.flags.match), Scrubs: k.scrubs, Here: k.here, Record: "recorder run --mode record-missing --cassette " + terminal.ShellWord(recording.Name()) + " -- CMD…",
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
var bySeverity = []int{recorderenv.ExitOK, recorderenv.ExitIncomplete, recorderenv.ExitGate, recorderenv.ExitUsage, recorderenv.ExitInternal}

// worseExit returns the worse of two exit codes.
func worseExit(a, b int) int {
	if slices.Index(bySeverity, b) > slices.Index(bySeverity, a) {
		return b
	}
	return a
}
