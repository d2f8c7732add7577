package inspect

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/proxy/redact"
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
	recorderenv.AddExempt(set, &j.exempt)
	set.BoolVar(&j.unsealed, "allow-unsealed", false, "warn of files of other tools instead of failing them")
	return cmd
}

func (a *app) verifyPaths(paths []string, j verifier, asJSON bool) error {
	if err := recorderenv.CheckExempt(j.exempt); err != nil {
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
		return cli.Exit(recorderenv.ExitGate)
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
			fmt.Fprintf(w, "ok      %s: %s\n", terminal.Line(v.Path), recorderenv.Interactions(v.Interactions))
		}
	}
	s := out.Summary
	mb := float64(s.Bytes) / 1e6
	fmt.Fprintf(w, "%s, %d failed; %.1f MB, %.0f MB/s\n", cli.Count(s.Files, "cassette", "cassettes"), s.Failed, mb, mb/s.Seconds)
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
