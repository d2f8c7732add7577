package serve

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// replayHandler handles one cassette in replay mode.
type replayHandler struct {
	*replay.Replayer
	path    string
	receipt string
	gates   gates
	scrubs  replay.Scrubs
}

func (k *modeEnv) openReplay(path, receipt string) (*replayHandler, error) {
	recording, err := cassette.Open(path)
	if errors.Is(err, cassette.ErrEmpty) {
		return nil, cli.Fail(recorderenv.ExitGate, "%w", err)
	}
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	if why := recorderenv.StaleReason(recording.Meta(), k.flags.maxAge, time.Now()); why != "" {
		return nil, cli.Fail(recorderenv.ExitGate, "%s: %s", path, why)
	}
	if err := os.MkdirAll(filepath.Dir(receipt), 0o755); err != nil { //nolint:gosec // its files are 0600
		return nil, cli.Usage("--receipt %s: cannot be written: %w", receipt, fileutil.Reason(err))
	}
	k.SayLoss(recording)
	k.sayTimes(recording)
	replayer, err := k.newReplayer(recording, nil)
	if err != nil {
		return nil, err
	}
	return &replayHandler{replayer, path, receipt, gates{k.flags.allowUnused, k.flags.strict}, k.scrubs}, nil
}

// sayTimes notes where --speed asks for recorded times and the times of the cassette are nominal.
func (k *modeEnv) sayTimes(recording *cassette.Cassette) {
	if k.flags.speed > 0 && recording.Meta().Nominal() {
		k.Note("%s: its times are nominal and were not measured", recording.Name())
	}
}

func (r *replayHandler) finishRecording(a *app, _ bool) outcome {
	got := r.Receipt()
	a.Note("%s: %s", r.path, got.Summary())
	out := outcome{served: got.Served, missed: got.Missed, unused: got.Unused}
	if a.isolated {
		a.Note("%s: nothing left the machine: the program could reach the recorder only", r.path)
	}
	a.SayList("relaxed", relaxedAnswers(got, r.gates.strict || a.Verbose))
	got.UnmatchedRules = a.sayUnmatched(r.path, r.scrubs, got.Relaxed)
	for _, sentence := range r.gates.failedGates(got, a.nothingAskedReason()) {
		a.Say("%s: %s", r.path, sentence)
		out.exit = recorderenv.ExitGate
	}
	if err := writeReceipt(r.receipt, a.completeReceipt(got)); err != nil {
		a.Say("%s: cannot be written: %v", r.receipt, fileutil.Reason(err))
		out.exit = recorderenv.ExitInternal
	}
	return out
}

func (r *replayHandler) discardStart() {}

// completeReceipt adds to a receipt what the replayer does not know.
func (a *app) completeReceipt(got replay.Receipt) replay.Receipt {
	got.Tool, got.Refused = "recorder "+cli.Version(), a.refused
	got.Isolated, got.Bypassed = a.isolated, a.bypasses(got)
	got.Libraries = cli.ModuleVersions("github.com/elazarl/goproxy", "github.com/dnaeon/go-vcr/v2")
	return got
}

// writeReceipt writes a receipt to path, if that is not "".
func writeReceipt(path string, got replay.Receipt) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		return err
	}
	return fileutil.WriteFile(path, append(data, '\n'), 0o600)
}
