package recorder

import (
	"fmt"
	"io"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/proxy/cassette"
	"github.com/meerkat-go/conformance/proxy/route"
)

// row is one interaction as inspect shows it.
type row struct {
	Index    int     `json:"index"`
	Provider string  `json:"provider"`
	Method   string  `json:"method"`
	URL      string  `json:"url"`
	Request  int     `json:"request_bytes"`
	Status   int     `json:"status"`
	Response int     `json:"response_bytes"`
	Chunks   int     `json:"chunks"`
	End      string  `json:"end"`
	Seconds  float64 `json:"seconds"`
}

func (a *app) inspectCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "inspect F", Short: "List a cassette's interactions", Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error { return a.inspect(args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print them as JSON")
	return cmd
}

func (a *app) inspect(file string, asJSON bool) error {
	tape, err := cassette.Open(file)
	if err != nil {
		return usage("%w", err)
	}
	rows := make([]row, 0, tape.Len())
	for i := range tape.Len() {
		in, err := tape.At(i)
		if err != nil {
			return &failure{exitGate, err}
		}
		rows = append(rows, rowOf(i, in))
	}
	meta := tape.Meta()
	if asJSON {
		return a.json(map[string]any{"schema": "recorder.inspect.v1", "path": file, "provenance": meta.Provenance,
			"format": meta.Version, "tool": meta.Tool, "created": meta.Created, "redaction": meta.Redaction, "interactions": rows})
	}
	fmt.Fprintf(a.human(), "%s: %s, %s\n", file, meta.Provenance, interactions(len(rows)))
	return table(a.human(), rows)
}

func rowOf(i int, in cassette.Interaction) row {
	host, path := hostAndPath(in.Request.URL)
	return row{
		Index: i, Provider: route.Provider(host, path), Method: in.Request.Method, URL: in.Request.URL,
		Request: len(in.Request.Body), Status: in.Response.Status, Response: len(in.Response.Body),
		Chunks: len(in.Timeline), End: string(in.End), Seconds: in.Duration.Seconds(),
	}
}

func table(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "#\tPROVIDER\tREQUEST\tBYTES\tSTATUS\tREPLY\tCHUNKS\tEND\tTIME")
	for _, r := range rows {
		_, path := hostAndPath(r.URL)
		fmt.Fprintf(t, "%d\t%s\t%s %s\t%d\t%d\t%d\t%d\t%s\t%v\n", r.Index, r.Provider, r.Method, path, r.Request,
			r.Status, r.Response, r.Chunks, r.End, time.Duration(r.Seconds*float64(time.Second)).Round(time.Millisecond))
	}
	return t.Flush()
}

// hostAndPath takes a recorded URL apart; what is none is a path.
func hostAndPath(raw string) (host, path string) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", raw
	}
	return u.Host, u.Path
}
