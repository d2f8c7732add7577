package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// verdict is the result of verify for one file.
type verdict struct {
	Path         string    `json:"path"`
	OK           bool      `json:"ok"`
	Sealed       bool      `json:"sealed"`
	Provenance   string    `json:"provenance,omitempty"`
	Created      string    `json:"created,omitempty"`
	Digest       string    `json:"digest,omitempty"`
	Interactions int       `json:"interactions"`
	Bytes        int64     `json:"bytes"`
	Problems     []problem `json:"problems"`
	Warnings     []problem `json:"warnings"`
}

// problem is one thing that is wrong. Text names the file.
type problem struct {
	Kind        string `json:"kind"`
	Interaction *int   `json:"interaction,omitempty"`
	Text        string `json:"problem"`
}

// The kinds of problems, as schemas/recorder.verify.v1.json lists them.
const (
	kindUnreadable = "unreadable" // not a cassette, or it cannot be read
	kindUnfinished = "unfinished" // a recording that was interrupted
	kindDamaged    = "damaged"    // bytes are not those that were written
	kindLayout     = "layout"     // something that the format does not have
	kindSecret     = "secret"
	kindIncomplete = "incomplete" // a reply is incomplete, and the cassette does not declare it
	kindStale      = "stale"
	kindUnsealed   = "unsealed"   // another tool wrote it
	kindCredential = "credential" // a value where credentials stand; a warning
)

// kindOf returns the kind of problem that an error of package cassette is about.
func kindOf(err error) string {
	for _, k := range []struct {
		is   error
		kind string
	}{{cassette.ErrTorn, kindUnfinished}, {cassette.ErrBusy, kindUnfinished}, {cassette.ErrDamaged, kindDamaged}, {cassette.ErrFormat, kindLayout}} {
		if errors.Is(err, k.is) {
			return k.kind
		}
	}
	return kindUnreadable
}

// verifier checks files.
type verifier struct {
	maxAge   recorderenv.Age
	unsealed bool // files of other tools pass with a warning
	now      time.Time
	secrets  []string // values that must not be in a file
	exempt   []string // digests of texts that only look like keys
}

// verifyFile checks one cassette in every way and lists all that is wrong.
func (j verifier) verifyFile(path string) verdict {
	v := verdict{Path: path, Problems: []problem{}, Warnings: []problem{}}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		v.Bytes = info.Size()
	}
	recording, err := cassette.Open(path)
	if err != nil {
		v.addProblem(kindOf(err), nil, err.Error())
		return v
	}
	if err := cassette.Unfinished(path); err != nil {
		v.addProblem(kindUnfinished, nil, err.Error())
	}
	meta := recording.Meta()
	v.Sealed, v.Provenance, v.Created, v.Digest, v.Interactions = recording.Sealed(), meta.Provenance, meta.Created, recording.Digest(), recording.Len()
	if err := recording.StrictHead(); err != nil {
		v.addProblem(kindOf(err), nil, err.Error())
	}
	if why := recorderenv.StaleReason(meta, j.maxAge, j.now); why != "" {
		v.addProblem(kindStale, nil, path+": "+why)
	}
	j.verifySeals(&v)
	if loss := recording.Loss(); loss != (cassette.Loss{}) && !declaresIncomplete(meta) {
		v.addProblem(kindIncomplete, nil, fmt.Sprintf("%s: %v; record it again, with --allow-incomplete if that is meant", path, loss))
	}
	j.verifyInteractions(&v, recording)
	v.OK = len(v.Problems) == 0
	return v
}

func (v *verdict) addProblem(kind string, interaction *int, text string) {
	v.Problems = append(v.Problems, problem{kind, interaction, text})
}

// verifySeals reports a file without seals: it is unknown whether it was changed since it was
// recorded, and whether it was ever redacted.
func (j verifier) verifySeals(v *verdict) {
	text := v.Path + ": has no seals, another tool wrote it; make a cassette of it with: recorder import " + v.Path + " --cassette NEW"
	switch {
	case v.Sealed:
	case j.unsealed:
		v.Warnings = append(v.Warnings, problem{kindUnsealed, nil, text})
	default:
		v.addProblem(kindUnsealed, nil, text)
	}
}

func declaresIncomplete(meta cassette.Meta) bool {
	return slices.Contains(meta.Declared, cassette.DeclaredIncomplete)
}

func (j verifier) verifyInteractions(v *verdict, recording *cassette.Cassette) {
	guard := gate.New(j.exempt...)
	for _, secret := range j.secrets {
		guard.Learn(secret)
	}
	declared := declaresIncomplete(recording.Meta())
	for i := range recording.Len() {
		in, err := recording.Strict(i)
		if err != nil {
			v.addProblem(kindOf(err), &i, err.Error())
		}
		if errors.Is(err, cassette.ErrDamaged) {
			continue // the interaction cannot be read
		}
		for _, found := range findSecrets(guard, in) {
			v.addProblem(kindSecret, &i, fmt.Sprintf("%s: interaction %d: %s", v.Path, i, found))
		}
		for _, place := range changedPlaces(in, redact.New(nil).Interaction(in)) {
			text := fmt.Sprintf("%s: interaction %d: %s holds what recording it now would redact", v.Path, i, place)
			v.Warnings = append(v.Warnings, problem{kindCredential, &i, text})
		}
		if why := cmp.Or(in.Incomplete, cassette.Judge(in)); why != "" && !declared {
			v.addProblem(kindIncomplete, &i, fmt.Sprintf("%s: interaction %d: the reply is incomplete (%s); record it again, with --allow-incomplete if that is meant", v.Path, i, why))
		}
	}
}
