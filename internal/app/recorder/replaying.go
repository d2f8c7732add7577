package recorder

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/meerkat-go/conformance/internal/app/version"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// replaying is a session's work in replay mode.
type replaying struct {
	*replay.Player
	path        string
	receipt     string
	allowUnused bool
}

func (k *kit) replaying(path, receipt string) (*replaying, error) {
	tape, err := cassette.Open(path)
	if errors.Is(err, cassette.ErrEmpty) {
		return nil, &failure{exitGate, err}
	}
	if err != nil {
		return nil, usage("%w", err)
	}
	if why := stale(tape.Meta(), k.flags.maxAge, time.Now()); why != "" {
		return nil, gateFailed("%s: %s", path, why)
	}
	player, err := k.player(tape, nil)
	if err != nil {
		return nil, err
	}
	return &replaying{player, path, receipt, k.flags.allowUnused}, nil
}

func (r *replaying) finish(a *app, _ bool) outcome {
	got := r.Receipt()
	relaxed := 0
	for _, n := range got.Relaxed {
		relaxed += n
	}
	a.say("%s: served %d, missed %d, unused %d, relaxed %d, egress %d", r.path, got.Served, got.Missed, got.Unused, relaxed, got.Egress)
	out := outcome{served: got.Served, missed: got.Missed, unused: got.Unused}
	for _, sentence := range gates(got, r.allowUnused) {
		a.say("%s: %s", r.path, sentence)
		out.exit = exitGate
	}
	if err := writeReceipt(r.receipt, r.path, got); err != nil {
		a.say("%s: cannot be written: %v", r.receipt, reason(err))
		out.exit = exitInternal
	}
	return out
}

func (r *replaying) abandon() {}

// writeReceipt writes what a replay can prove, if a file was named.
func writeReceipt(path, tape string, got replay.Receipt) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(struct {
		Schema   string `json:"schema"`
		Cassette string `json:"cassette"`
		Tool     string `json:"tool"`
		replay.Receipt
	}{"recorder.receipt.v1", tape, "recorder " + version.String(), got}, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(path, append(data, '\n'))
}
