package rkat

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/meerkat/config"
)

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
	cli.VisitSettings(cmd.Flags(), func(key, flag string, value any) { o.Flags[key], o.Names[key] = value, "--"+flag })
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
