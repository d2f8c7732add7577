package recorder

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// refreshHandler handles one cassette in refresh mode: a recording beside it, which takes its
// place when it is complete.
type refreshHandler struct {
	*recordHandler
	path   string
	old    *cassette.Cassette
	noSwap bool
}

// openRefresh starts the successor of the cassette path. When that does not exist, it is recorded
// for the first time.
func (k *modeEnv) openRefresh(path string) (modeHandler, error) {
	old, err := cassette.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return k.openRecording(path, false)
	}
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	if was := old.Meta().Provenance; was == cassette.ProvenanceLive && k.provenance != was {
		return nil,
			cli.Usage("%s: is live, and a refresh from --upstream would be %s; record to another file, or replace it with: recorder record --force", path, k.provenance)
	}
	if err := cassette.Replaceable(path); err != nil {
		return nil, cli.Usage("%w", err) // now, not when all is recorded
	}
	rec, err := k.openRecording(freshName(path), true)
	if err != nil {
		return nil, err
	}
	return &refreshHandler{rec, path, old, k.flags.noSwap}, nil
}

// printChanges prints how the fresh recording differs from the old one.
func (r *refreshHandler) printChanges(a *app) error {
	done := a.ShowElapsed("comparing with " + r.path)
	changes, err := a.DiffFiles(r.path, r.recordHandler.path)
	done()
	if err != nil {
		return err
	}
	PrintDiff(a.Stderr, changes)
	return nil
}

// freshName returns the path of a cassette's successor. Names of sessions have no tilde, so it is
// no other session's cassette.
func freshName(path string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "~fresh" + ext
}

// stayReason returns why the old cassette stays, "" when it is replaced.
func (r *refreshHandler) stayReason(failed bool, exit int) string {
	switch {
	case exit != ExitOK:
		return ", because the recording is not whole"
	case failed:
		return ", because the program failed"
	case r.noSwap:
		return ", as --no-swap says"
	}
	return ""
}

// isReplaced reports whether another process has replaced the cassette meanwhile.
func (r *refreshHandler) isReplaced() bool {
	now, err := cassette.Open(r.path)
	return err != nil || now.Digest() != r.old.Digest()
}

func (r *refreshHandler) finishRecording(a *app, failed bool) outcome {
	out := r.recordHandler.finishRecording(a, failed)
	if out.recorded == 0 {
		a.Say("%s: stays as it was", r.path)
		return out
	}
	if err := r.printChanges(a); err != nil {
		a.Say("%s", cli.OneLine(err))
	}
	if why := r.stayReason(failed, out.exit); why != "" {
		a.Say("%s: stays as it was%s; the fresh recording is %s", r.path, why, r.recordHandler.path)
		return out
	}
	if r.isReplaced() {
		a.Say("%s: was recorded by somebody else meanwhile and stays so; the fresh recording is %s", r.path,
			r.recordHandler.path)
		out.exit = ExitIncomplete
		return out
	}
	if err := cassette.Rename(r.recordHandler.path, r.path); err != nil {
		a.Say("%v; the fresh recording is %s", err, r.recordHandler.path)
		out.exit = ExitInternal
		return out
	}
	a.Note("%s: replaced", r.path)
	return out
}
