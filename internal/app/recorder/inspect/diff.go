package inspect

import (
	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy/event"
)

// difference is how two recordings, or two interactions, differ.
type difference struct {
	Schema string `json:"schema"`
	Old    string `json:"old"`
	New    string `json:"new"`
	Equal  bool   `json:"equal"`
	Pairs  []pair `json:"pairs"`
	// Lost names the interactions that another tool did not keep whole. They are not compared.
	Lost []string `json:"lost,omitempty"`
}

// pair is an interaction of the old recording and the one in the new recording that corresponds to
// it. One without a counterpart has nil on the other side.
type pair struct {
	Old     *int            `json:"old"`
	New     *int            `json:"new"`
	Request string          `json:"request"`
	Asked   []event.Change  `json:"asked,omitempty"`
	Shape   []event.Finding `json:"shape,omitempty"`
	Said    []event.Change  `json:"said,omitempty"`
	Times   *Times          `json:"times,omitempty"`
}

// Times are how long the replies took, in milliseconds. They never make two
// recordings different.
type Times struct {
	OldFirst float64 `json:"old_first_event_ms"`
	NewFirst float64 `json:"new_first_event_ms"`
	OldTotal float64 `json:"old_total_ms"`
	NewTotal float64 `json:"new_total_ms"`
}

func (p pair) isEqual() bool {
	return p.Old != nil && p.New != nil && len(p.Asked)+len(p.Shape)+len(p.Said) == 0
}

func (a *app) diffCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Example: "  recorder diff old.yaml new.yaml\n  recorder diff monday.har tuesday.har\n  recorder diff old.yaml#3 new.yaml#3",
		Use:     "diff A B", Short: "Show what two recordings, or two interactions F#N, say differently",
		Long: `Show what two recordings say differently: the shape first (events, fields,
stop reasons, statuses, headers), then texts and arguments, each in one piece.
Ids, signatures and times that only have other values are not differences.

A and B are cassettes, or anything that recorder import reads: HAR files of a
browser or of mitmproxy, and files of go-vcr, vcrpy, VCR for Ruby and nock.
Those are redacted first, as an import of them is. An interaction without a
body that was there is named and left out.

Exit codes: 0 equal, 1 different, 2 wrong usage, 3 equal but for what was left out.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usage("%s: name two recordings, or two interactions as F#N", cmd.Name())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.diffRecordings(args[0], args[1], asJSON) },
	}
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

func (a *app) diffRecordings(old, fresh string, asJSON bool) error {
	done := a.ShowElapsed("comparing with " + old)
	d, err := DiffFiles(a.Env, old, fresh)
	done()
	if err != nil {
		return err
	}
	d.Old, d.New = old, fresh
	exit := recorderenv.ExitGate
	switch {
	case d.Equal && len(d.Lost) > 0:
		exit = recorderenv.ExitIncomplete
	case d.Equal:
		exit = recorderenv.ExitOK
	}
	a.SayList("left out", d.Lost)
	if asJSON {
		if err := a.WriteJSON(d); err != nil {
			return err
		}
		return cli.Exit(exit)
	}
	PrintDiff(a.Stdout, d)
	return cli.Exit(exit)
}

// DiffFiles compares two recordings or interactions, each given as FILE or FILE#N.
func DiffFiles(env *recorderenv.Env, old, fresh string) (difference, error) {
	a := &app{env}
	x, err := a.readSide(old)
	if err != nil {
		return difference{}, err
	}
	y, err := a.readSide(fresh)
	if err != nil {
		return difference{}, err
	}
	return compareSides(x, y), nil
}
