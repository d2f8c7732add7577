package rkat

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/catalog"
)

func (a *app) modelsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "models", Short: "List the models that are allowed",
		Example: "  rkat models\n  rkat models --json | jq -r '.models[].name'",
		Long:    "List the models that are allowed. Dated snapshots of them, and later versions of\ntheir lines, are allowed too.",
		Args:    cli.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.printModels(asJSON) },
	}
	cli.AddJSONFlag(cmd, &asJSON)
	return cmd
}

// model is a catalogue entry in the JSON of models.
type model struct {
	Name          string   `json:"name"`
	Provider      string   `json:"provider"`
	Default       bool     `json:"default"`
	Thinking      string   `json:"thinking"`
	Efforts       []string `json:"efforts"`
	DefaultEffort string   `json:"default_effort,omitempty"`
	ContextWindow int      `json:"context_window,omitempty"`
	MaxOutput     int      `json:"max_output_tokens,omitempty"`
	Retires       string   `json:"retires,omitempty"`
	// ReadsFrom lists the other models whose thinking it accepts.
	ReadsFrom    []string     `json:"reads_from"`
	Capabilities capabilities `json:"capabilities"`
}

// capabilities are what a model accepts and others do not.
type capabilities struct {
	Prefill          bool `json:"prefill"`            // a conversation that ends with a reply
	ForcedToolChoice bool `json:"forced_tool_choice"` // that a tool must be called
	Temperature      bool `json:"temperature"`        // while it does not think
	PrefixBinding    bool `json:"prefix_binding"`     // its thinking is bound to what was sent before it
}

func (a *app) printModels(asJSON bool) error {
	var all []model
	for _, e := range catalog.Models() {
		d, _ := catalog.Default(e.Provider)
		all = append(all, model{
			Name: e.Name, Provider: e.Provider, Default: d.Name == e.Name, Thinking: string(e.Thinking),
			Efforts: append([]string{}, e.Efforts...), DefaultEffort: e.DefaultEffort, ContextWindow: e.ContextWindow,
			MaxOutput: e.MaxOutput, Retires: e.Retires,
			ReadsFrom:    append([]string{}, e.ReadsFrom...),
			Capabilities: capabilities{e.Prefill, e.ForcedToolChoice, e.Sampling, e.PrefixBinding},
		})
	}
	if asJSON {
		return a.writeLine(map[string]any{"models": all})
	}
	return printTable(a.Stdout, "PROVIDER\tMODEL\tEFFORTS\tNOTES", all, func(m model) []string {
		var notes []string
		if m.Default {
			notes = append(notes, "default")
		}
		if m.Retires != "" {
			notes = append(notes, "retires "+m.Retires)
		}
		return []string{m.Provider, m.Name, strings.Join(m.Efforts, " "), strings.Join(notes, ", ")}
	})
}
