package recorder

import (
	"encoding/json"
	"os"

	"github.com/meerkat-go/conformance/internal/app/version"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// replaying is a session's work in replay mode.
type replaying struct {
	*replay.Player
	path    string
	receipt string
}

func (a *app) replaying(f *flags, redactor *redact.Redactor) (work, error) {
	tape, err := cassette.Open(f.cassette)
	if err != nil {
		return nil, usage("%w", err)
	}
	player, err := replay.New(replay.Config{Cassette: tape, Redactor: redactor, Timing: replay.Timing(f.speed),
		Log: func(line string) { a.say("%s", line) }})
	if err != nil {
		return nil, err
	}
	return &replaying{player, f.cassette, f.receipt}, nil
}

func (r *replaying) finish(a *app) int {
	got := r.Receipt()
	relaxed := 0
	for _, n := range got.Relaxed {
		relaxed += n
	}
	a.say("%s: served %d, missed %d, unused %d, relaxed %d, egress %d", r.path, got.Served, got.Missed, got.Unused, relaxed, got.Egress)
	if r.receipt != "" {
		if err := writeReceipt(r.receipt, r.path, got); err != nil {
			a.say("%s: cannot be written: %v", r.receipt, reason(err))
			return exitInternal
		}
	}
	if got.Missed > 0 || got.Unused > 0 {
		return exitGate
	}
	return exitOK
}

func (r *replaying) abandon() {}

func writeReceipt(path, tape string, got replay.Receipt) error {
	data, err := json.MarshalIndent(struct {
		Schema   string `json:"schema"`
		Cassette string `json:"cassette"`
		Tool     string `json:"tool"`
		replay.Receipt
	}{"recorder.receipt.v1", tape, "recorder " + version.String(), got}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}
