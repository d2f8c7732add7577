package conform

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/conform/lint"
	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/proxy/redact/gate"
)

const lintSchema = "conform.lint.v1"

// maxLintInput bounds what conform lint reads: providers take requests of 32 MB.
const maxLintInput = 64 << 20

// lintFlags are common to both commands.
type lintFlags struct {
	providers      []string
	strict, asJSON bool
}

func (l *lintFlags) addTo(cmd *cobra.Command, providerUsage string) {
	cmd.Flags().StringSliceVar(&l.providers, "provider", nil, providerUsage)
	cmd.Flags().BoolVar(&l.strict, "strict", false, "exit 1 for warnings as well")
	cli.AddJSONFlag(cmd, &l.asJSON)
}

func (a *app) lintCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Say what a provider would refuse, before it is sent",
		Long: `Say what a provider would refuse in a list of tools or in a request, before it is
sent: by rule, with the place and how to mend it. One tool that a provider does not
take makes every request with it fail.`,
		Example: "  conform lint tools tools.json\n  my-mcp-server --list-tools | conform lint tools -\n  conform lint request body.json",
		Args:    cli.SubCommand,
		RunE: func(*cobra.Command, []string) error {
			return cli.Usage("lint: says not what to look at; use conform lint tools or conform lint request")
		},
	}
	cmd.AddCommand(a.lintToolsCommand(), a.lintRequestCommand())
	return cmd
}

func (a *app) lintToolsCommand() *cobra.Command {
	var flags lintFlags
	cmd := &cobra.Command{
		Use:   "tools FILE|-",
		Short: "Say which tools a provider would refuse",
		Long: `Say which tools a provider would refuse, and why. FILE is what an MCP server answers
to tools/list, the tools of a request to any provider, or a whole request; - reads
standard input. Each tool is judged as if it were sent to every provider as it is.

Exits 1 when a provider refuses something, 2 when no tool can be read. --json prints
` + lintSchema + `.`,
		Example: `  conform lint tools tools.json
  conform lint tools --provider anthropic,gemini --json tools.json | jq .findings`,
		Args: oneArgument("lint tools: takes one file, or - for standard input; got %d"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.lint(args[0], flags,
				func(data []byte) (lint.Result, error) { return lint.Tools(data, flags.providers...) })
		},
	}
	flags.addTo(cmd, "judge for these providers only: "+strings.Join(lint.Providers(), ", "))
	return cmd
}

func (a *app) lintRequestCommand() *cobra.Command {
	var flags lintFlags
	to := lint.Target{}
	var betas []string
	cmd := &cobra.Command{
		Use:   "request FILE|-",
		Short: "Say what a provider would refuse in a request",
		Long: `Say what a provider would refuse in the body of a request to Anthropic Messages, OpenAI
Responses, Gemini generateContent or a server of Chat Completions, whose rules differ by
--host; - reads standard input. What depends on
earlier replies, such as signatures, is judged by conform check. What the header
anthropic-beta decides is a warning, unless --beta names all that it holds.

Exits 1 when the provider refuses it, 2 when it cannot be read. --json prints
` + lintSchema + `.`,
		Example: `  conform lint request body.json
  conform lint request --provider gemini --model gemini-2.5-flash - < body.json
  conform lint request --host api.deepseek.com body.json`,
		Args: oneArgument("lint request: takes one file, or - for standard input; got %d"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(flags.providers) > 1 {
				return cli.Usage("--provider %s: a request goes to one provider; name one",
					strings.Join(flags.providers, ","))
			}
			to.Provider, to.Host = strings.Join(flags.providers, ""), strings.ToLower(to.Host)
			if to.Host != "" {
				if err := checkProviderHost(to.Host); err != nil {
					return err
				}
			}
			if cmd.Flags().Changed("beta") {
				to.Header = http.Header{"Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": betas}
			}
			return a.lint(args[0], flags, func(data []byte) (lint.Result, error) {
				return lint.Request(to, data)
			})
		},
	}
	flags.addTo(cmd,
		"the `provider` it goes to: anthropic, openai, gemini or chat; without it, the members of the request say which")
	cmd.Flags().StringVar(&to.Host, "host", "",
		"the `host` it goes to, which decides what a server of Chat Completions refuses (default: the provider's public one)")
	cmd.Flags().StringVarP(&to.Model, "model", "m", "", "the `model` that the URL of a Gemini request names")
	cmd.Flags().StringSliceVar(&betas, "beta", nil, "all `names` that the header anthropic-beta holds")
	return cmd
}

func (a *app) lint(name string, flags lintFlags, judge func([]byte) (lint.Result, error)) error {
	for _, provider := range flags.providers {
		if !slices.Contains(lint.Providers(), provider) {
			return cli.Usage("--provider %s: is unknown; use %s%s", provider, strings.Join(lint.Providers(), ", "),
				spelling.Hint(provider, lint.Providers()))
		}
	}
	data, err := a.readInput(name)
	if err != nil {
		return err
	}
	result, err := judge(data)
	if err != nil {
		return cli.Usage("%s: %w", name, err)
	}
	verdict := result.Verdict()
	if flags.asJSON {
		err = report.WriteJSON(a.JSON(),
			lintDoc{Schema: lintSchema, Tool: tool(), Verdict: result.Verdict(), Result: result})
	} else {
		w := a.Stdout
		verdicts := map[report.Verdict]int{}
		for _, f := range result.Findings {
			verdicts[f.Verdict]++
			fmt.Fprintf(w, "%-5s %-24s %-10s %s\n", f.Verdict, f.Check, f.Provider, f.Path)
			fmt.Fprintf(w, "      %s\n", f.Message)
			if len(f.Also) > 0 {
				fmt.Fprintf(w, "      also at: %s\n", strings.Join(f.Also, "; "))
			}
			if f.Fix != "" {
				fmt.Fprintf(w, "      fix: %s\n", f.Fix)
			}
		}
		for _, note := range result.Notes {
			fmt.Fprintf(w, "note  %s\n", note)
		}
		of := ""
		if result.Tools > 0 {
			of = fmt.Sprintf(" in %d tools", result.Tools)
		}
		fmt.Fprintf(w, "%s %d refused, %d degraded%s (%s)\n", strings.ToUpper(string(result.Verdict())),
			verdicts[report.Fail], verdicts[report.Warn], of, strings.Join(result.Providers, ", "))
	}
	if err == nil && (verdict == report.Fail || flags.strict && verdict == report.Warn) {
		err = cli.Exit(report.ExitFailure)
	}
	return err
}

// readInput reads a file, or standard input for "-". A finding may quote any part of it, so well-known
// keys become letters "x".
func (a *app) readInput(name string) ([]byte, error) {
	input := a.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, cli.Usage("%s: %w; give a file, or - for standard input", name, fileutil.Reason(err))
		}
		defer func() { _ = file.Close() }()
		input = file
	}
	data, err := io.ReadAll(io.LimitReader(input, maxLintInput+1))
	switch {
	case err != nil:
		return nil, cli.Usage("%s: cannot be read: %w", name, err)
	case len(data) > maxLintInput:
		return nil, cli.Usage("%s: is larger than %d MB; no provider takes that", name, maxLintInput>>20)
	}
	return gate.Blank(data), nil
}

// lintDoc is the form of conform lint --json, schema conform.lint.v1.
type lintDoc struct {
	Schema  string         `json:"schema"`
	Tool    report.Tool    `json:"tool"`
	Verdict report.Verdict `json:"verdict"`
	lint.Result
}
