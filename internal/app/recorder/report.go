package recorder

import (
	"cmp"
	"errors"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/record"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

// LossOf returns what the cassette says was lost. What was withheld is not counted: the next run
// asks for it again.
func LossOf(report record.Report) cassette.Loss {
	return cassette.Loss{Lost: len(report.Lost) + len(report.Refused)}
}

// SayReport says what did not go well.
func (a *app) SayReport(report record.Report) {
	a.SayList("masked", report.Masked)
	a.SayList("not saved", report.Refused)
	a.SayList("lost", report.Lost)
	a.SayList("cut short", report.Cut)
	if n := report.Withheld; n > 0 {
		a.Say("%s not kept, so that the next run asks again; --allow-incomplete keeps such",
			cli.Count(n, "of them is", "of them are"))
	}
	if n := report.Declared; n > 0 {
		a.Say("%d of them cut short, as --allow-incomplete declares", n)
	}
}

// written says which file a command wrote and what of it is not as it was: the document recorder.written.v1.
type written struct {
	Schema       string   `json:"schema"`
	Path         string   `json:"path"`
	Format       string   `json:"format"`
	Interactions int      `json:"interactions"`
	Changes      []string `json:"changes,omitempty"`
	Masked       []string `json:"masked,omitempty"`
	Refused      []string `json:"refused,omitempty"`
	Lost         []string `json:"lost,omitempty"`
	Cut          []string `json:"cut,omitempty"`
}

// SayWritten prints the document with --json, else a note for people.
func (a *app) SayWritten(asJSON bool, w written, form string, args ...any) error {
	if !asJSON {
		a.Note(form, args...)
		return nil
	}
	w.Schema, w.Format = "recorder.written.v1", cmp.Or(w.Format, "cassette")
	return a.WriteJSON(w)
}

// maxListed is how many lines of one kind are printed.
const maxListed = 10

// SayList prints what happened to interactions: the first maxListed lines, and how many more
// there are.
func (a *app) SayList(what string, lines []string) {
	for _, line := range lines[:min(len(lines), maxListed)] {
		a.Say("%s: %s", what, line)
	}
	if more := len(lines) - maxListed; more > 0 {
		a.Say("%s: and %d more", what, more)
	}
}

// ExitOfRecording returns the exit code for what became of the interactions and, by err, of their
// file. An error of package cassette, such as a full disk, means that the recording is
// incomplete.
func ExitOfRecording(report record.Report, err error) int {
	switch {
	case len(report.Refused) > 0 || IsSecret(err):
		return ExitGate
	case err != nil && !errors.As(err, new(*cassette.Error)):
		return ExitInternal
	case err != nil || len(report.Lost)+len(report.Cut) > 0:
		return ExitIncomplete
	}
	return ExitOK
}

// IsSecret reports whether err says that the gate found one.
func IsSecret(err error) bool {
	hit := (*gate.Hit)(nil)
	return errors.As(err, &hit)
}

// SayLoss says what a cassette that is replayed lacks: a miss may be due to it.
func (a *app) SayLoss(recording *cassette.Cassette) {
	if loss := recording.Loss(); loss != (cassette.Loss{}) {
		a.Say("%s: is incomplete: %v", recording.Name(), loss)
	}
}

// Interactions counts interactions in words.
func Interactions(n int) string { return cli.Count(n, "interaction", "interactions") }

// OneFile accepts the name of one cassette.
func OneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usage("%s: name one cassette", cmd.Name())
	}
	return nil
}

// HostAndPath returns the host and the path of a recorded URL. A text that is not a URL is
// returned as the path.
func HostAndPath(raw string) (host, path string) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", raw
	}
	return u.Host, u.Path
}
