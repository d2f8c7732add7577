// Conform judges whether an agent talks to its provider correctly.
package main

import (
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/conform"
)

func main() { cli.Main(conform.Run) }
