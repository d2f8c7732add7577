package recorder

import (
	"cmp"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/cassette/interchange"
	"github.com/meerkat-go/conformance/proxy/record"
)

// anyFormat means that the bytes of a file decide its format.
const anyFormat = "auto"

type importFlags struct {
	cassette, from    string
	force, incomplete bool
	asJSON            bool
	own               Own
	onSecret          OnSecret
}

func (a *app) importCommand() *cobra.Command {
	f := &importFlags{}
	cmd := &cobra.Command{
		Use: "import F --cassette OUT", Short: "Make a cassette of another tool's recording, redacted",
		Example: "  recorder import session.har --cassette loop.yaml",
		Long: `Make a cassette of a recording of go-vcr v2, v3 or v4, vcrpy, VCR for Ruby, nock, an
HTTP Archive (also of Polly.js), each also gzipped, or of a folder of NN.request.json,
NN.response.json, NN.response.body.

What is read is redacted and screened as a live recording is. What F does not
say (times of chunks, how a reply ended) the cassette does not say either; an
exchange without a body that was there is lost (exit 3), one with a key that
redaction does not reach is not saved (exit 1). The provenance is "import", unless
F is the export of a cassette that a simulator or another stand-in answered. --json
prints recorder.written.v1.`,
		Args: OneFile,
		RunE: func(_ *cobra.Command, args []string) error { return a.importFile(args[0], f) },
	}
	set := cmd.Flags()
	set.StringVar(&f.cassette, "cassette", "", "the cassette `file` to write")
	set.StringVar(&f.from, "from", anyFormat, "the `format` of F: "+strings.Join(formatNames(), ", "))
	set.BoolVar(&f.force, "force", false, "replace a cassette that exists")
	f.own.AddTo(set)
	f.onSecret.AddTo(set)
	set.BoolVar(&f.incomplete, "allow-incomplete", false, "replies that are cut are intended; the cassette declares it")
	cli.AddJSONFlag(cmd, &f.asJSON)
	return cmd
}

func formatNames() []string {
	names := []string{anyFormat}
	for _, f := range interchange.Formats() {
		names = append(names, string(f))
	}
	return names
}

func (a *app) importFile(path string, f *importFlags) error {
	switch {
	case f.cassette == "":
		return cli.Usage("--cassette: missing; name the file to write")
	case !slices.Contains(formatNames(), f.from):
		return cli.Usage("--from %s: unknown; one of %s%s", f.from, strings.Join(formatNames(), ", "),
			spelling.Hint(f.from, formatNames()))
	}
	done := a.ShowElapsed("reading " + path)
	rec, err := readRecording(path)
	done()
	switch {
	case err != nil:
		return cli.Usage("%w", err)
	case rec.Format == interchange.Cassette:
		return cli.Usage("%s: is a cassette already; copy it", path)
	case f.from != anyFormat && f.from != string(rec.Format):
		return cli.Usage("%s: is %s, not %s; leave --from out", path, rec.Format, f.from)
	}
	return a.importRecording(rec, f)
}

// readRecording reads a file, or a folder of the corpus layout.
func readRecording(path string) (interchange.Recording, error) {
	switch info, err := os.Stat(path); {
	case err != nil:
		return interchange.Recording{}, cli.Unreadable(path, err)
	case info.IsDir():
		return interchange.ReadFile(os.DirFS(path), ".", path)
	}
	dir, name := filepath.Split(filepath.Clean(path))
	return interchange.ReadFile(os.DirFS(cmp.Or(dir, ".")), name, path)
}

func (a *app) importRecording(rec interchange.Recording, f *importFlags) error {
	redacts, err := a.Redaction(f.own, nil)
	if err != nil {
		return err
	}
	writer, err := cassette.Create(f.cassette, redacts.Meta(importedProvenance(rec.Provenance), f.incomplete),
		cassette.CreateOptions{Force: f.force})
	if err != nil {
		return cli.Usage("%w", err)
	}
	done := a.ShowElapsed("importing to " + f.cassette)
	report := takeAll(redacts, writer, rec, f.onSecret.IsMasked)
	done()
	writer.Lose(LossOf(report))
	writer.Lose(rec.Loss)
	if f.incomplete {
		report.Cut = nil
	}
	a.SayReport(report)
	a.SayUnused(redacts.Own())
	done = a.ShowElapsed("checking " + f.cassette)
	err = writer.Close()
	done()
	if err != nil {
		a.Say("%v", err)
	} else {
		result := written{Path: f.cassette, Interactions: report.Saved, Masked: report.Masked, Refused: report.Refused,
			Lost: report.Lost, Cut: report.Cut}
		if err := a.SayWritten(f.asJSON, result, "%s: %s imported from %s", f.cassette, Interactions(report.Saved),
			rec.Format); err != nil {
			return err
		}
	}
	return cli.Exit(ExitOfRecording(report, err))
}

// takeAll redacts, screens and saves interactions, and reports what became of them. All are
// redacted before the first is saved: a key that one sends may stand in the reply to an earlier
// one. With isMasked, what the gate finds is masked.
func takeAll(r *Redaction, w *cassette.Writer, rec interchange.Recording, isMasked bool) (report record.Report) {
	list, _, lost := prepareAll(r, rec)
	report.Lost = lost
	var fit []cassette.Interaction
	for _, in := range list {
		what := requestName(in)
		in, masked, err := r.Screened(in, isMasked)
		for _, found := range masked {
			report.Masked = append(report.Masked, what+": "+found)
		}
		if err != nil {
			report.Refused = append(report.Refused, what+": "+err.Error())
			continue
		}
		fit = append(fit, in)
	}
	for i, err := range w.AppendAll(fit) {
		if err != nil {
			report.Lost = append(report.Lost, requestName(fit[i])+": "+err.Error())
			continue
		}
		report.Saved++
		if why := fit[i].Incomplete; why != "" {
			report.Cut = append(report.Cut, requestName(fit[i])+": "+why)
		}
	}
	return report
}

// prepareAll returns the interactions that the tool kept whole, each with its number in rec, and
// names the others. r learns the secrets of all.
func prepareAll(r *Redaction, rec interchange.Recording) (list []cassette.Interaction, numbers []int, lost []string) {
	for i, in := range rec.Interactions {
		ready, err := prepareImport(rec.Format, in)
		if err != nil {
			lost = append(lost, requestName(in)+": "+err.Error())
			continue
		}
		if rec.Provenance == interchange.ProvenanceLost {
			ready.Provenance = rec.Provenance
		}
		r.Redacted(ready)
		list, numbers = append(list, ready), append(numbers, i)
	}
	return list, numbers, lost
}

// importedProvenance returns the provenance of an import. Answers of a simulator or a scripted
// server keep theirs; all others are an import, even those of a provider itself.
func importedProvenance(said string) string {
	if said == cassette.ProvenanceSimulator || said == cassette.ProvenanceSynthetic {
		return said
	}
	return cassette.ProvenanceImport
}

// The errors for a body that was sent and not kept, which a cassette cannot express.
var (
	errNoRequest = errors.New("its request body was not kept; record it again")
	errNoReply   = errors.New("its response body was not kept, as browsers do with streams; record it again")
)

// prepareImport returns in as the recorder would have stored it. In the files of most
// tools a missing body was empty; an archive may have left it out.
func prepareImport(format interchange.Format, in cassette.Interaction) (cassette.Interaction, error) {
	whole := format != interchange.HAR && format != interchange.Corpus
	switch {
	case in.Request.Body == nil && !whole && !hasNoBody(in.Request.Method):
		return in, errNoRequest
	case in.Response.Body == nil && !whole && in.Request.Method != http.MethodHead &&
		in.Response.Status != http.StatusNoContent && in.Response.Status != 0:
		return in, errNoReply
	}
	if format == interchange.Corpus {
		in.Timeline = nil // sizes without times; they would all be said to be 0
	}
	in, err := interchange.Decoded(in)
	if in.Incomplete == "" && err == nil {
		in.Incomplete = cassette.Judge(in)
	}
	return in, err
}

func hasNoBody(method string) bool {
	return slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions}, method)
}

// requestName names a request without the query and the user of its URL, which may hold secrets.
func requestName(in cassette.Interaction) string {
	host, path := HostAndPath(in.Request.URL)
	if host == "" {
		return in.Request.Method + " (unreadable URL)"
	}
	return in.Request.Method + " " + host + path
}
