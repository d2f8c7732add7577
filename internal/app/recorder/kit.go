package recorder

import (
	"net/http"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// kit is what the cassettes of one proxy have in common. Sessions share the
// gate: a secret seen in one must not turn up in another.
type kit struct {
	*app
	flags     *flags
	redactor  *redact.Redactor
	guard     *gate.Gate
	transport http.RoundTripper // nil in replay: there is no way outside
	origin    string            // the provenance of what is recorded
	disturb   disturbance       // in replay
}

func (a *app) kit(f *flags) (*kit, error) {
	key, err := a.pseudonymKey()
	if err != nil {
		return nil, err
	}
	k := &kit{app: a, flags: f, redactor: redact.New(key), guard: gate.New(f.exempt...)}
	a.Program.Scrub = func(line string) string { return gate.Mask(k.redactor.Text(line)) }
	for _, secret := range append(secrets(a.Env), f.callers.secret()...) {
		k.redactor.Learn(secret)
		k.guard.Learn(secret)
	}
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

// meta is what a cassette recorded now says of itself.
func (k *kit) meta() cassette.Meta {
	var declared []string
	if k.flags.allowIncomplete {
		declared = []string{cassette.DeclaredIncomplete}
	}
	return cassette.Meta{Declared: declared, Provenance: k.origin, Tool: "recorder " + cli.Version(),
		Created: time.Now().UTC().Format(time.RFC3339), Redaction: k.redactor.Rules(), Matching: replay.Rules()}
}

// recorder keeps in w what passes; with nil nothing is kept.
func (k *kit) recorder(w *cassette.Writer) (*record.Recorder, error) {
	cfg := record.Config{Transport: k.transport, OnAbort: record.Drain(k.flags.onAbort),
		MaxBody: int64(k.flags.maxBody), AllowIncomplete: k.flags.allowIncomplete,
		WholeOnly: k.flags.mode == modeMissing}
	if w != nil {
		cfg.Writer, cfg.Redactor, cfg.Gate = w, k.guard.Watch(k.redactor), k.guard.Check
		w.Revise(k.lastLook)
	}
	return record.New(cfg)
}

// player answers from tape; what it does not know goes to fallback, or is
// refused where that is nil.
func (k *kit) player(tape *cassette.Cassette, fallback http.Handler) (*replay.Replayer, error) {
	player, err := replay.New(replay.Config{Cassette: tape, Redactor: k.redactor, Timing: replay.Timing(k.flags.speed),
		Match: replay.Level(k.flags.match), Record: "recorder run --mode record-missing --cassette " + tape.Name() + " -- CMD…",
		Rechunk: k.disturb.rechunk, Faults: k.disturb.faults, Seed: k.disturb.seed,
		Fallback: fallback, Log: func(line string) { k.Say("%s", line) }})
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	return player, nil
}
