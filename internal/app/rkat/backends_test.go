package rkat

import (
	"bytes"
	"strings"
	"testing"
)

// TestWithoutBackends: what a program that embeds rkat does not carry is refused
// in one sentence, before anything is sent or written.
func TestWithoutBackends(t *testing.T) {
	env := []string{"HOME=" + t.TempDir()}
	for want, args := range map[string][]string{
		"rkat: --store: this program is built without sessions in sqlite; use jsonl or memory, or the rkat command\n": {"sessions", "list", "--store", "sqlite"},
		"rkat: --metrics-file: this program is built without it; use the rkat command\n":                              {"run", "--demo", "--metrics-file", "m", "hi"},
		"rkat: --trace-file: this program is built without it; use the rkat command\n":                                {"run", "--demo", "--trace-file", "t", "hi"},
		"rkat: --format html: this program is built without it; use --format jsonl, or the rkat command\n":            {"sessions", "export", "01"},
		"rkat: serve: this program is built without it; use the rkat command\n":                                       {"serve", "--demo"},
	} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), args, strings.NewReader(""), &out, &errs, env)
		if code != exitUsage || errs.String() != want || out.Len() != 0 {
			t.Errorf("%v: %d %q %q; want %q", args, code, out.String(), errs.String(), want)
		}
	}
}
