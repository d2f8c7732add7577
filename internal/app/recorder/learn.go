package recorder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/replay"
)

// learnRules records a program twice and proposes rules from what differs. The first
// recording is the cassette; the second is deleted.
func (a *app) learnRules(ctx context.Context, f *modeFlags, path string, given, args []string) error {
	rules, err := f.scrubRules()
	if err != nil {
		return err
	}
	if exit, err := a.runOnce(ctx, f, path, given, args); err != nil || exit != ExitOK {
		return a.endUnlearned(err, exit)
	}
	second := *f
	ext := filepath.Ext(f.cassette)
	second.cassette, second.force = strings.TrimSuffix(f.cassette, ext)+"~second"+ext, true
	defer func() { _ = os.Remove(second.cassette) }()
	a.Note("now the same once more, to see what differs")
	if exit, err := a.runOnce(ctx, &second, path, given, args); err != nil || exit != ExitOK {
		return a.endUnlearned(err, exit)
	}
	one, err := cassette.Open(f.cassette)
	if err != nil {
		return cli.Usage("%w", err)
	}
	two, err := cassette.Open(second.cassette)
	if err != nil {
		return cli.Usage("%w", err)
	}
	done := a.ShowElapsed("comparing both recordings")
	learned, err := replay.Learn(one, two, rules, time.Now())
	done()
	if err != nil {
		return cli.Usage("%w", err)
	}
	// The proposals have the form of recorder.yaml.
	if len(learned.Proposals) > 0 {
		fmt.Fprintln(a.Stdout, "scrub:")
	}
	for _, p := range learned.Proposals {
		fmt.Fprintf(a.Stdout, "  - '%s' # %s\n", strings.ReplaceAll(p.Rule, "'", "''"), terminal.Line(p.Reason))
	}
	a.Note("%d of %s the same in both recordings under these rules; %d in one recording only", learned.Equal,
		cli.Count(learned.Pairs, "request is", "requests are"), learned.Single)
	if learned.Equal < learned.Pairs || learned.Single > 0 {
		a.Say("the program did not do the same twice: what is not the same needs rules of your own, or cannot be replayed")
	}
	return nil
}

func exitOr(err error, exit int) error {
	if err != nil {
		return err
	}
	return cli.Exit(exit)
}

// endUnlearned returns how the command ends when one of the two recordings failed, and says that
// no rules are proposed.
func (a *app) endUnlearned(err error, exit int) error {
	if err == nil {
		a.Say("--learn: proposes no rules, because it needs two recordings in which nothing fails; see what failed above, and run it again")
	}
	return exitOr(err, exit)
}
