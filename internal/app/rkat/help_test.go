package rkat

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
)

// TestEveryHelpHasAnExample: each command shows how it is called.
func TestEveryHelpHasAnExample(t *testing.T) {
	seen := 0
	cli.WalkCommands(newApp(Backends{}, nil, io.Discard, io.Discard, nil).rootCommand(), func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		seen++
		if cmd.Example == "" || cmd.Short == "" || !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s: no example or no description", cmd.CommandPath())
		}
	})
	if seen < 12 {
		t.Errorf("%d commands", seen)
	}
}

// TestJSONFlag: --json is --output json, also for an error.
func TestJSONFlag(t *testing.T) {
	var out, errs bytes.Buffer
	env := []string{"HOME=" + t.TempDir()}
	if code := Run(
		t.Context(), []string{"run", "--demo", "-q", "--json", "hi"}, nil, &out, &errs, env,
	); code != 0 || !strings.HasPrefix(out.String(), `{"session_id":"`) {
		t.Errorf("%d %s %s", code, out.String(), errs.String())
	}
	out.Reset()
	if code := Run(
		t.Context(), []string{"run", "--json", "hi"}, nil, &out, &errs, env,
	); code != exitDenied || !strings.Contains(out.String(), `"error":{"kind":"missing_key"`) {
		t.Errorf("%d %s", code, out.String())
	}
}
