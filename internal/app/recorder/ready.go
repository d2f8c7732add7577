package recorder

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
)

// Starter is what a program asks for that starts a proxy or a simulator: a sign that it is ready,
// and that it ends with the program.
type Starter struct {
	asJSON bool
	onEOF  bool
}

// AddTo declares the flags.
func (s *Starter) AddTo(cmd *cobra.Command) {
	cli.AddJSONFlag(cmd, &s.asJSON)
	cmd.Flags().BoolVar(&s.onEOF, "stop-on-eof", false,
		"stop when stdin ends, and so with the program that started this one")
	cli.CommandLineOnly(cmd.Flags(), "stop-on-eof")
}

// ready says that clients can be started: the document recorder.ready.v1.
type ready struct {
	Schema    string            `json:"schema"`
	URL       string            `json:"url"`
	Variables map[string]string `json:"variables"`
	Remove    []string          `json:"remove"` // variables that lead around the proxy; clients must not have them
}

// SayReady prints the variables for the clients: one KEY=VALUE a line, or JSON.
func (s *Starter) SayReady(a *app, url string, variables []string) error {
	if !s.asJSON {
		_, err := io.WriteString(a.Stdout, ShellLines(variables))
		return err
	}
	r := ready{Schema: "recorder.ready.v1", URL: url, Variables: map[string]string{}}
	for _, kv := range variables {
		name, value, _ := strings.Cut(kv, "=")
		r.Variables[name] = value
	}
	r.Remove = slices.DeleteFunc(slices.Clone(proxyVariables), func(name string) bool {
		_, isSet := r.Variables[name]
		return isSet
	})
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.JSON(), "%s\n", line)
	return err
}

// ShellLines returns settings as shells read them, one a line.
func ShellLines(settings []string) string {
	var lines strings.Builder
	for _, kv := range settings {
		lines.WriteString(ShellLine(kv) + "\n")
	}
	return lines.String()
}

// Wait returns when ctx ends or, with --stop-on-eof, when stdin does.
func (s *Starter) Wait(ctx context.Context, a *app) {
	ended := make(chan struct{})
	if s.onEOF {
		go func() {
			_, _ = io.Copy(io.Discard, a.Stdin)
			close(ended)
		}()
	}
	select {
	case <-ctx.Done():
	case <-ended:
	}
}
