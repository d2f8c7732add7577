package recorder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// verdict is what verify says of one file.
type verdict struct {
	Path         string `json:"path"`
	Interactions int    `json:"interactions"`
	OK           bool   `json:"ok"`
	Problem      string `json:"problem,omitempty"`
}

func (a *app) verifyCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "verify PATH…", Short: "Check every byte of cassettes against their seals, and that no key is in them",
		RunE: func(_ *cobra.Command, args []string) error { return a.verify(args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the verdicts as JSON")
	return cmd
}

func (a *app) verify(paths []string, asJSON bool) error {
	files, err := cassetteFiles(paths)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return usage("verify: no cassettes; name files, or folders that hold .yaml files")
	}
	verdicts := make([]verdict, 0, len(files))
	exit := exitOK
	for _, file := range files {
		v := judge(file)
		if !v.OK {
			exit = exitGate
		}
		verdicts = append(verdicts, v)
	}
	if asJSON {
		err := a.json(map[string]any{"schema": "recorder.verify.v1", "cassettes": verdicts})
		return errors.Join(err, code(exit))
	}
	for _, v := range verdicts {
		if v.OK {
			fmt.Fprintf(a.human(), "ok      %s: %s\n", v.Path, interactions(v.Interactions))
		} else {
			fmt.Fprintf(a.human(), "failed  %s\n", v.Problem)
		}
	}
	return code(exit)
}

// judge checks one file: its seals, and by the gate that recording passes
// through, too.
func judge(file string) verdict {
	v := verdict{Path: file}
	tape, err := cassette.Open(file)
	if err == nil {
		v.Interactions, err = tape.Len(), tape.Verify()
	}
	if err != nil {
		v.Problem = err.Error()
		return v
	}
	guard := gate.New()
	for i := range tape.Len() {
		in, err := tape.At(i)
		if err == nil {
			err = guard.Check(in)
		}
		if err != nil {
			v.Problem = fmt.Sprintf("%s: interaction %d: %v", file, i, strings.TrimSuffix(err.Error(), "; the interaction is not saved"))
			return v
		}
	}
	v.OK = true
	return v
}

// cassetteFiles lists the files that paths name, folders with all below them.
// An unfinished recording is listed by its cassette's name.
func cassetteFiles(paths []string) (files []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, usage("%s: cannot be read: %w", path, reason(err))
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			name := strings.TrimSuffix(file, ".partial")
			if err == nil && !d.IsDir() && (strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")) {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			return nil, usage("%s: cannot be read: %w", path, reason(err))
		}
	}
	return files, nil
}
