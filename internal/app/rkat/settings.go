package rkat

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/config"
)

// settingOf annotates a flag with the key that it sets. Such flags hold texts;
// package config reads them as it reads variables and files.
const settingOf = "setting"

// bindSettings adds the flags that the table of settings has for a group of
// commands.
func (a *app) bindSettings(flags *pflag.FlagSet, group config.Commands) {
	for _, s := range a.settings {
		if s.Flag != "" && s.Commands == group {
			if s.Repeated {
				flags.StringArrayP(s.Flag, s.Shorthand, nil, s.Help)
			} else {
				flags.StringP(s.Flag, s.Shorthand, "", s.Help)
			}
			if s.Switch {
				flags.Lookup(s.Flag).NoOptDefVal = "true"
			}
			flags.Lookup(s.Flag).Annotations = map[string][]string{settingOf: {s.Key}}
		}
	}
}

// loadConfig reads the configuration: the flags of cmd, the environment, the
// project's and the user's file, the defaults.
func (a *app) loadConfig(cmd *cobra.Command) (*config.Loaded, error) {
	return a.loadConfigFor(cmd, nil)
}

// configOptions returns where the configuration of a command is.
func (a *app) configOptions(cmd *cobra.Command) config.Options {
	o := config.Options{
		Env: a.env, Dir: a.dir, File: a.configFile, Trust: a.trust, Table: a.settings,
		Flags: map[string]any{}, Names: map[string]string{},
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		key := f.Annotations[settingOf]
		if key == nil || f.Value.String() == "" { // empty as in the environment: not set
			return
		}
		o.Flags[key[0]], o.Names[key[0]] = f.Value.String(), "--"+f.Name
		if list, ok := f.Value.(pflag.SliceValue); ok {
			o.Flags[key[0]] = list.GetSlice()
		}
	})
	return o
}

// workingFolder is where the search for a project begins, "" if there is none
// to search.
func workingFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// isSetByFlag reports whether the command line made a setting. Nothing else changes
// what a stored session was started with.
func isSetByFlag(cfg *config.Loaded, key string) bool { return cfg.From(key).Layer == config.Flag }

// systemPrompt returns the system prompt and whether the command line set it.
func systemPrompt(cfg *config.Loaded) (text string, byFlag bool, err error) {
	text, from, err := cfg.SystemPrompt()
	if err != nil {
		err = &cli.UsageError{Err: err}
	}
	return text, from.Layer == config.Flag, err
}
