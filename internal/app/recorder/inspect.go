package recorder

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/terminal"
	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/event"
)

// row is one interaction as inspect lists it.
type row struct {
	Index      int     `json:"index"`
	Provider   string  `json:"provider"`
	Method     string  `json:"method"`
	URL        string  `json:"url"`
	Request    int     `json:"request_bytes"`
	Status     int     `json:"status"`
	Response   int     `json:"response_bytes"`
	Chunks     int     `json:"chunks"`
	Events     int     `json:"events"`
	End        string  `json:"end"`
	Incomplete string  `json:"incomplete,omitempty"`
	Provenance string  `json:"provenance,omitempty"` // where it is not that of the cassette
	Seconds    float64 `json:"seconds"`
}

func rowOf(i int, in cassette.Interaction) row {
	return row{
		Index: i, Provider: event.Provider(in.Request), Method: in.Request.Method, URL: in.Request.URL,
		Request: len(in.Request.Body), Status: in.Response.Status, Response: len(in.Response.Body),
		Chunks: len(in.Timeline), Events: len(event.Of(in)), End: string(in.End),
		Incomplete: cmp.Or(in.Incomplete, cassette.Judge(in)), Provenance: in.Provenance,
		Seconds: in.Duration.Seconds(),
	}
}

// inspection are the flags of inspect.
type inspection struct {
	json   bool
	n      int
	body   string
	unfold bool
}

func (a *app) inspectCommand() *cobra.Command {
	var x inspection
	cmd := &cobra.Command{
		Use: "inspect F [-i N]", Short: "List a cassette's interactions, or the events of one of them", Args: OneFile,
		Example: "  recorder inspect loop.yaml\n  recorder inspect loop.yaml -i 0\n  recorder inspect loop.yaml -i 0 --body response",
		Long: `List a cassette's interactions, or with -i N (or F#N) show one of them:
what was asked, what came back, and its events with the time and the byte
where each begins. Pieces of one text are one line; --unfold shows each.`,
		RunE: func(_ *cobra.Command, args []string) error { return a.inspectFile(args[0], x) },
	}
	cli.AddJSONFlag(cmd, &x.json)
	cmd.Flags().IntVarP(&x.n, "interaction", "i", Everything, "show interaction `N`, counted from 0")
	cmd.Flags().Lookup("interaction").DefValue = "0" // or the help would say that -1 is shown
	cmd.Flags().StringVar(&x.body, "body", "", "with -i: print the bytes of its `request or response`, nothing else")
	cmd.Flags().BoolVar(&x.unfold, "unfold", false, "with -i: a line for each event")
	return cmd
}

func (a *app) inspectFile(arg string, x inspection) error {
	file, n, err := parsePlace(arg)
	if err != nil {
		return err
	}
	if x.n < Everything {
		return cli.Usage("-i %d: interactions are counted from 0", x.n)
	}
	if n = max(n, x.n); n == Everything && (x.body != "" || x.unfold) {
		return cli.Usage("inspect: --body and --unfold are about one interaction; name it with -i N")
	}
	if n == Everything {
		return a.inspectAll(file, x.json)
	}
	t, err := Read(file, n)
	switch {
	case err != nil:
		return err
	case x.body != "":
		return a.writeBody(t.List[0], x.body)
	}
	return a.inspectOne(t, x)
}

// writeBody writes a body as it was recorded. Terminals get it without control characters.
func (a *app) writeBody(in cassette.Interaction, side string) error {
	body, known := map[string][]byte{"request": in.Request.Body, "response": in.Response.Body}[side]
	if !known {
		return cli.Usage("--body %s: is request or response", side)
	}
	_, err := a.Data().Write(body)
	return err
}

func (a *app) inspectAll(file string, asJSON bool) error {
	t, err := cassette.Open(file)
	if err != nil {
		return cli.Usage("%w", err)
	}
	rows := make([]row, 0, t.Len())
	for in, err := range t.All() {
		if err != nil {
			return cli.Fail(ExitGate, "%w", err)
		}
		rows = append(rows, rowOf(len(rows), in))
	}
	meta := t.Meta()
	if asJSON {
		return a.WriteJSON(map[string]any{"schema": "recorder.inspect.v1", "path": file, "provenance": meta.Provenance,
			"format": meta.Version, "tool": meta.Tool, "created": meta.Created, "redaction": meta.Redaction,
			"declared": append([]string{}, meta.Declared...), "digest": t.Digest(), "lost": t.Loss().Lost,
			"recovered": t.Loss().Recovered, "interactions": rows})
	}
	w := a.Stdout
	fmt.Fprintf(w, "%s: %s\n", terminal.Line(file), terminal.Line(cassetteOrigin(t)))
	if err := printTable(w, rows); err != nil {
		return err
	}
	fmt.Fprintln(w, tableTotals(rows))
	if loss := t.Loss(); loss != (cassette.Loss{}) {
		fmt.Fprintf(w, "incomplete: %v\n", loss)
	}
	return nil
}

// cassetteOrigin describes a cassette: provenance, size, date, tool and digest.
func cassetteOrigin(t *cassette.Cassette) string {
	meta := t.Meta()
	parts := []string{meta.Provenance, Interactions(t.Len())}
	if meta.Nominal() {
		parts = append(parts, "nominal times")
	}
	if meta.Created != "" {
		parts = append(parts, "recorded "+meta.Created)
	}
	if meta.Tool != "" {
		parts = append(parts, "by "+meta.Tool)
	}
	if digest := t.Digest(); len(digest) > 19 {
		parts = append(parts, digest[:19]+"…")
	}
	return strings.Join(parts, ", ")
}

func tableTotals(rows []row) string {
	var asked, said, events, incomplete int
	provenances := map[string]int{}
	for _, r := range rows {
		asked, said, events = asked+r.Request, said+r.Response, events+r.Events
		if r.Incomplete != "" {
			incomplete++
		}
		if r.Provenance != "" {
			provenances[r.Provenance]++
		}
	}
	text := fmt.Sprintf("%s: %d bytes asked, %d replied, %s", Interactions(len(rows)), asked, said,
		cli.Count(events, "event", "events"))
	if incomplete > 0 {
		text += fmt.Sprintf("; %d incomplete", incomplete)
	}
	for _, provenance := range slices.Sorted(maps.Keys(provenances)) {
		text += fmt.Sprintf("; %d %s", provenances[provenance], terminal.Line(provenance))
	}
	return text
}

func printTable(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "#\tPROVIDER\tREQUEST\tBYTES\tSTATUS\tREPLY\tCHUNKS\tEVENTS\tEND\tTIME")
	for _, r := range rows {
		_, path := HostAndPath(r.URL)
		fmt.Fprintf(t, "%d\t%s\t%s %s\t%d\t%d\t%d\t%d\t%d\t%s\t%v\n", r.Index, r.Provider, terminal.Line(r.Method),
			terminal.Line(path), r.Request,
			r.Status, r.Response, r.Chunks, r.Events, terminal.Line(endingText(r.End, r.Incomplete)),
			roundSeconds(r.Seconds))
	}
	return t.Flush()
}

// endingText returns how a reply ended, and why it is incomplete.
func endingText(end, incomplete string) string {
	if incomplete == "" {
		return end
	}
	return strings.TrimSpace(end + " (" + incomplete + ")")
}

func roundSeconds(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}

// Everything stands for all interactions in place of a number.
const Everything = -1

// parsePlace reads FILE or FILE#N. A file whose own name ends in such a way is taken
// as it is.
func parsePlace(arg string) (file string, n int, err error) {
	at := strings.LastIndexByte(arg, '#')
	if _, err := os.Lstat(arg); at < 0 || !errors.Is(err, fs.ErrNotExist) {
		return arg, Everything, nil
	}
	n, err = strconv.Atoi(arg[at+1:])
	if err != nil || n < 0 {
		return "", 0, cli.Usage("%s: behind # goes the number of an interaction, as recorder inspect %s lists them",
			arg, arg[:at])
	}
	return arg[:at], n, nil
}

// selection is a cassette, with all interactions or one of them read.
type selection struct {
	*cassette.Cassette
	file  string
	first int // the number of the first interaction in list
	List  []cassette.Interaction
}

// Read opens a cassette and reads interaction n, or everything.
func Read(file string, n int) (*selection, error) {
	opened, err := cassette.Open(file)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	t := &selection{Cassette: opened, file: file}
	if n >= opened.Len() {
		return nil, cli.Usage("%s#%d: has %s, counted from 0", file, n, Interactions(opened.Len()))
	}
	last := opened.Len() - 1
	if n != Everything {
		t.first, last = n, n
	}
	for i := t.first; i <= last; i++ {
		in, err := opened.At(i)
		if err != nil {
			return nil, cli.Fail(ExitGate, "%w", err)
		}
		t.List = append(t.List, in)
	}
	return t, nil
}
