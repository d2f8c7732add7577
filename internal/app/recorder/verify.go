package recorder

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// verified is the result of verify for all files.
type verified struct {
	Schema    string    `json:"schema"`
	Cassettes []verdict `json:"cassettes"`
	Summary   struct {
		Files        int     `json:"files"`
		Failed       int     `json:"failed"`
		Interactions int     `json:"interactions"`
		Bytes        int64   `json:"bytes"`
		Seconds      float64 `json:"seconds"`
	} `json:"summary"`
}

func (a *app) verifyCommand() *cobra.Command {
	j, asJSON := verifier{}, false
	cmd := &cobra.Command{
		Use: "verify PATH…", Short: "Check cassettes: every byte, the format, keys, endings, age",
		Example: "  recorder verify cassettes/\n  recorder verify --max-age 30d loop.yaml",
		Long: `Check cassettes, in files and below folders, for a pre-commit hook and for CI:
that every byte is as it was recorded, that they say nothing the format does not
have, that no key is in them, that every reply is whole unless the cassette
declares otherwise, and with --max-age how old they are. Everything that is wrong
is listed; exit 1 when something is.

A file of another tool has no seals and fails; with --allow-unsealed that is a
warning, and the file is checked for keys and endings only.`,
		RunE: func(_ *cobra.Command, args []string) error {
			j.now, j.secrets = time.Now(), redact.EnvironmentSecrets(a.Environ)
			return a.verifyPaths(args, j, asJSON)
		},
	}
	set := cmd.Flags()
	cli.AddJSONFlag(cmd, &asJSON)
	set.Var(&j.maxAge, "max-age", "fail cassettes that are older, for example 30d")
	AddExempt(set, &j.exempt)
	set.BoolVar(&j.unsealed, "allow-unsealed", false, "warn of files of other tools instead of failing them")
	return cmd
}

func (a *app) verifyPaths(paths []string, j verifier, asJSON bool) error {
	if err := CheckExempt(j.exempt); err != nil {
		return err
	}
	files, err := cassetteFiles(paths)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return cli.Usage("verify: no cassettes; name files, or folders that hold .yaml files")
	}
	start := time.Now()
	out := summarise(a.verifyAll(files, j.verifyFile), time.Since(start))
	if asJSON {
		if err := a.WriteJSON(out); err != nil {
			return err
		}
	} else {
		a.printVerified(out)
	}
	if out.Summary.Failed > 0 {
		return cli.Exit(ExitGate)
	}
	return nil
}

func summarise(verdicts []verdict, took time.Duration) verified {
	out := verified{Schema: "recorder.verify.v1", Cassettes: verdicts}
	s := &out.Summary
	s.Files, s.Seconds = len(verdicts), took.Seconds()
	for _, v := range verdicts {
		s.Interactions += v.Interactions
		s.Bytes += v.Bytes
		if !v.OK {
			s.Failed++
		}
	}
	return out
}

func (a *app) printVerified(out verified) {
	w := a.Stdout
	for _, v := range out.Cassettes {
		for _, p := range v.Warnings {
			fmt.Fprintf(w, "warning %s\n", terminal.Line(p.Text))
		}
		for _, p := range v.Problems {
			fmt.Fprintf(w, "failed  %s\n", terminal.Line(p.Text))
		}
		if v.OK {
			fmt.Fprintf(w, "ok      %s: %s\n", terminal.Line(v.Path), Interactions(v.Interactions))
		}
	}
	s := out.Summary
	mb := float64(s.Bytes) / 1e6
	fmt.Fprintf(w, "%s, %d failed; %.1f MB, %.0f MB/s\n", cli.Count(s.Files, "cassette", "cassettes"), s.Failed, mb,
		mb/s.Seconds)
}

// verifyAll judges files on all processors and keeps their order.
func (a *app) verifyAll(files []string, judge func(string) verdict) []verdict {
	if len(files) == 1 { // nothing to count, however large it is
		defer a.ShowElapsed("verifying " + files[0])()
		return []verdict{judge(files[0])}
	}
	out := make([]verdict, len(files))
	next := make(chan int)
	bar := a.StartProgress("verified")
	defer bar.Done()
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wait.Go(func() {
			for i := range next {
				out[i] = judge(files[i])
				bar.Step(len(files))
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	wait.Wait()
	return out
}

// cassetteFiles lists the files that paths name and the cassettes below the folders that they name,
// each once. An unfinished recording is listed by the name of its cassette.
func cassetteFiles(paths []string) (files []string, err error) {
	listed := map[string]bool{}
	add := func(file string) {
		if !listed[file] {
			listed[file] = true
			files = append(files, file)
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, cli.Unreadable(path, err)
		}
		if !info.IsDir() {
			add(path)
			continue
		}
		err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return cli.Unreadable(file, err)
			}
			name := strings.TrimSuffix(file, ".partial")
			if !d.IsDir() && (strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")) {
				add(name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

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
	}{{cassette.ErrTorn, kindUnfinished}, {cassette.ErrBusy, kindUnfinished}, {cassette.ErrDamaged, kindDamaged},
		{cassette.ErrFormat, kindLayout}} {
		if errors.Is(err, k.is) {
			return k.kind
		}
	}
	return kindUnreadable
}

// verifier checks files.
type verifier struct {
	maxAge   Age
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
	v.Sealed, v.Provenance, v.Created, v.Digest, v.Interactions = recording.Sealed(), meta.Provenance, meta.Created,
		recording.Digest(), recording.Len()
	if err := recording.StrictHead(); err != nil {
		v.addProblem(kindOf(err), nil, err.Error())
	}
	if why := StaleReason(meta, j.maxAge, j.now); why != "" {
		v.addProblem(kindStale, nil, path+": "+why)
	}
	j.verifySeals(&v)
	switch loss := recording.Loss(); {
	case loss == cassette.Loss{}:
	case declaresIncomplete(meta):
		v.Warnings = append(v.Warnings, problem{kindIncomplete, nil, fmt.Sprintf("%s: %v", path, loss)})
	default:
		v.addProblem(kindIncomplete, nil,
			fmt.Sprintf("%s: %v; record it again, with --allow-incomplete if that is meant", path, loss))
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
	text := v.Path + ": has no seals, another tool wrote it; make a cassette of it with: recorder import " + v.Path +
		" --cassette NEW"
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
			v.addProblem(kindIncomplete, &i,
				fmt.Sprintf("%s: interaction %d: the reply is incomplete (%s); record it again, with --allow-incomplete if that is meant", v.Path, i, why))
		}
	}
}

// maxFound is how many secrets of one interaction are named.
const maxFound = 20

// findSecrets names all that the gate finds in an interaction, which is what recording with
// --on-secret mask would mask. Each is taken out of a copy before the gate looks for the next.
func findSecrets(guard *gate.Gate, in cassette.Interaction) (found []string) {
	redactor := redact.New(nil)
	for err := guard.Check(in); err != nil && len(found) < maxFound; err = guard.Check(in) {
		if !slices.Contains(found, err.Error()) {
			found = append(found, err.Error())
		}
		var hit *gate.Hit
		if !errors.As(err, &hit) || !hit.Teach(redactor.Learn) {
			return found
		}
		in = redactor.Interaction(in)
	}
	return found
}

// changedPlaces names the parts of an interaction that redaction changes.
func changedPlaces(was, is cassette.Interaction) (places []string) {
	add := func(place string, isSame bool) {
		if !isSame {
			places = append(places, place)
		}
	}
	add("the URL", was.Request.URL == is.Request.URL)
	add("the request body", bytes.Equal(was.Request.Body, is.Request.Body))
	add("the response body", bytes.Equal(was.Response.Body, is.Response.Body))
	places = append(places, changedHeaders("the request header ", was.Request.Header, is.Request.Header)...)
	return append(places, changedHeaders("the response header ", was.Response.Header, is.Response.Header)...)
}

func changedHeaders(what string, was, is http.Header) (places []string) {
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if !slices.Equal(was[name], is[name]) {
			places = append(places, what+name)
		}
	}
	return places
}
