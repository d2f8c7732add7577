// Package version forwards to package cli until all commands use it.
package version

import "github.com/meerkat-go/conformance/internal/app/cli"

// String returns the version of this build.
func String() string { return cli.Version() }
