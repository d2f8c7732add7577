package serve

import (
	"net/http"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// kit is what the cassettes of one proxy have in common. Sessions share the
// gate: a secret seen in one must not turn up in another.
type kit struct {
	*app
	*recorderenv.Redaction
	flags     *flags
	transport http.RoundTripper // nil in replay: there is no way outside
	origin    string            // the provenance of what is recorded
	disturb   disturbance       // in replay
}

func (a *app) kit(f *flags) (*kit, error) {
	redacts, err := a.Redaction(f.exempt, f.callers.secret()...)
	if err != nil {
		return nil, err
	}
	k := &kit{app: a, Redaction: redacts, flags: f}
	if f.mode == modeReplay {
		k.disturb, err = a.disturbance(&f.disturb)
		return k, err
	}
	bases, err := f.upstreams()
	if err != nil {
		return nil, err
	}
	roots, err := a.roots(f)
	if err != nil {
		return nil, err
	}
	k.origin = provenance(bases)
	if k.transport, err = proxy.NewTransport(bases, roots); err != nil {
		return nil, cli.Usage("%w", err)
	}
	return k, nil
}

// provenance: only what the providers' own hosts said is live.
func provenance(upstream map[string]string) string {
	if len(upstream) > 0 {
		return cassette.ProvenanceSynthetic
	}
	return cassette.ProvenanceLive
}

// work opens the cassette at path for the mode that was asked for.
func (k *kit) work(path, receipt string) (work, error) {
	w, err := k.start(path, receipt)
	if err != nil {
		return nil, err // and no work at all, not one of a nil
	}
	return w, nil
}

func (k *kit) start(path, receipt string) (work, error) {
	switch k.flags.mode {
	case modeReplay:
		return k.replaying(path, receipt)
	case modeMissing:
		return k.completing(path)
	case modeRefresh:
		return k.refreshing(path)
	case modePass:
		return k.passing()
	default:
		return k.recording(path, k.flags.force)
	}
}

// recorder keeps in w what passes; with nil nothing is kept.
func (k *kit) recorder(w *cassette.Writer) (*record.Recorder, error) {
	cfg := record.Config{Transport: k.transport, OnAbort: record.Drain(k.flags.onAbort),
		MaxBody: int64(k.flags.maxBody), AllowIncomplete: k.flags.allowIncomplete,
		WholeOnly: k.flags.mode == modeMissing}
	if w != nil {
		cfg.Writer, cfg.Redactor, cfg.Gate = w, k.Guard.Watch(k.Redactor), k.Guard.Check
		w.Revise(k.LastLook)
	}
	return record.New(cfg)
}

// player answers from tape; what it does not know goes to fallback, or is
// refused where that is nil.
func (k *kit) player(tape *cassette.Cassette, fallback http.Handler) (*replay.Replayer, error) {
	player, err := replay.New(replay.Config{Cassette: tape, Redactor: k.Redactor, Timing: replay.Timing(k.flags.speed),
		Match: replay.Level(k.flags.match), Record: "recorder run --mode record-missing --cassette " + tape.Name() + " -- CMD…",
		Rechunk: k.disturb.rechunk, Faults: k.disturb.faults, Seed: k.disturb.seed,
		Fallback: fallback, Log: func(line string) { k.Say("%s", line) }})
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	return player, nil
}
