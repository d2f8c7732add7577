package conform

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/isolate"
	"github.com/meerkat-go/conformance/internal/spelling"
	"github.com/meerkat-go/conformance/profiles"
	"github.com/meerkat-go/conformance/proxy"
	"github.com/meerkat-go/conformance/specs"
	"github.com/meerkat-go/conformance/wires"
)

// flagGroups are the groups of flags in help texts, by what one wants.
var flagGroups = []cli.FlagGroup{
	{Title: "The gateway or server",
		Flags: strings.Fields("wire upstream-wire url listen model key-env as level name file header wait passes-key")},
	{Title: "The agent",
		Flags: strings.Fields("subject provider workdir in-place env stdin resume-cmd session-pattern mcp-flag acp-permissions isolation")},
	{Title: "What is judged",
		Flags: strings.Fields("source ingress filter set websocket seed resume-at in-order foreign host side")},
	{Title: "How cases are run", Flags: strings.Fields("jobs repeat case-timeout timeout shard journal rerun-failed")},
	{Title: "What turns red", Flags: strings.Fields("strict fail-on fail-on-stray require rules baseline prices")},
	{Title: "Reports", Flags: strings.Fields("report json share serve output keep")},
	{Title: "Live: the providers themselves",
		Flags: strings.Fields("live-model allow-model max-requests max-tokens max-cost record upstream upstream-ca")},
}

// mostFlags is how many flags stand in one list.
const mostFlags = 9

// flagValues are the words that a flag takes, nil where it takes others.
func flagValues(flag string) []string {
	if flag == "set" {
		return specs.SetNames()
	}
	return map[string][]string{
		"source":    {"cassette", "simulator", "live"},
		"ingress":   {proxy.MITM, proxy.BaseURL},
		"websocket": {webSocketJudge, webSocketRefuse},
		"fail-on":   {"fail", "warn"},
		"level":     {string(specs.Core), string(specs.Agent), string(specs.Faithful)},
		"by":        {"area", "requirement"},
		"isolation": {string(isolate.Auto), string(isolate.Require), string(isolate.Off)},
	}[flag]
}

// checkValues refuses values that a flag does not take, and an empty list of them.
func checkValues(flag string, values ...string) error {
	known := flagValues(flag)
	if values != nil && len(values) == 0 {
		return cli.Usage("--%s: is empty; use %s", flag, strings.Join(known, " or "))
	}
	for _, value := range values {
		if !slices.Contains(known, value) {
			return cli.Usage("--%s: unknown value %q; use %s%s", flag, value, strings.Join(known, " or "),
				spelling.Hint(value, known))
		}
	}
	return nil
}

// completions are what a shell offers for a flag.
func completions(flag string) (words []string) {
	switch flag {
	case "acp-permissions":
		return []string{"allow", "reject"}
	case "provider", "wire", "upstream-wire":
		return wires.Names()
	case "as":
		return askedClientNames()
	case "subject":
		return append([]string{rkatSubject, "acp:", "driver:"}, profiles.Names()...)
	case "require":
		return catalogueIDs()
	case "filter":
		words = append(catalogueIDs(), wires.Names()...)
		for _, c := range specs.Consequences {
			words = append(words, string(c))
		}
		return append(words, scenarioNames()...)
	case "report":
		for _, kind := range reportKinds() {
			words = append(words, kind+"=")
		}
		return words
	}
	return flagValues(flag)
}

// catalogueIDs are the ids and areas of the catalogue.
func catalogueIDs() []string {
	all, _ := specs.Requirements() // an error of the embedded files: no ids
	ids := slices.Clone(specs.Areas)
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	return ids
}

// scenarioNames are those that explain knows.
func scenarioNames() (names []string) {
	for _, e := range newGlossary().entries {
		if e.Kind == kindScenario {
			names = append(names, e.ID)
		}
	}
	return names
}

// completeFlags lets shells complete the values of all flags that have known ones, the last word of
// a list or an expression, and the ids of explain.
func completeFlags(root *cobra.Command) {
	cli.WalkCommands(root, func(cmd *cobra.Command) {
		flags := 0
		for _, g := range flagGroups {
			for _, name := range g.Flags {
				if cmd.Flags().Lookup(name) != nil {
					flags++
				}
			}
		}
		if flags > mostFlags {
			cli.GroupFlags(cmd, flagGroups)
		}
		for _, name := range strings.Fields("source ingress websocket set fail-on by isolation acp-permissions provider wire upstream-wire as level subject require filter report") {
			if flag := cmd.Flags().Lookup(name); flag == nil || flag.Value.Type() == "bool" {
				continue
			}
			_ = cmd.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string, typed string) ([]string,
				cobra.ShellCompDirective) { // the flag is there
				var offered []string
				before := typed[:strings.LastIndexAny(typed, ", (!&|")+1]
				directive := cobra.ShellCompDirectiveNoFileComp
				for _, word := range completions(name) {
					if offered = append(offered, before+word); strings.HasSuffix(word, "=") || strings.HasSuffix(word, ":") {
						directive |= cobra.ShellCompDirectiveNoSpace
					}
				}
				return offered, directive
			})
		}
		if cmd.Name() == "explain" {
			cmd.ValidArgsFunction = func(*cobra.Command, []string, string) (ids []string, _ cobra.ShellCompDirective) {
				for _, e := range newGlossary().entries {
					ids = append(ids, e.ID)
				}
				return ids, cobra.ShellCompDirectiveNoFileComp
			}
		}
	})
}
