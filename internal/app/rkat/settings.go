package rkat

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/meerkat-go/conformance/meerkat/config"
)

// loadConfig reads the configuration: the flags of cmd, the environment, the
// project's and the user's file, the defaults.
func (a *app) loadConfig(cmd *cobra.Command) (*config.Loaded, error) {
	return a.loadConfigFor(cmd, nil)
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
