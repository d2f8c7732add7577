package conform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meerkat-go/conformance/conform/harness"
	"github.com/meerkat-go/conformance/internal/app/recorder"
	"github.com/meerkat-go/conformance/internal/app/rkat"
	"github.com/meerkat-go/conformance/internal/corpus"
)

func TestMain(m *testing.M) {
	env := os.Environ()
	if code, isSubject := harness.RunIfSubject(context.Background(), rkat.Run, os.Args[1:], os.Stdin, os.Stdout,
		os.Stderr, env); isSubject {
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){
		"toy-agent":   toyAgent,
		"toy-gateway": toyGateway,
		"conform": func() {
			os.Exit(Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, env))
		},
		"recorder": func() {
			os.Exit(recorder.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, env))
		},
	})
}

// TestScripts holds what the commands promise: flags, output, errors and exit
// codes.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Condition:           condition,
		Setup:               setExamples,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"standin":   startStandIn,
			"nokey":     searchForKeys,
			"valid":     valid,
			"gen":       gen,
			"simulator": startSimulator,

			"printable": printable,
		},
	})
}

// setExamples sets EXAMPLES to the folder of the files that the documentation uses.
func setExamples(env *testscript.Env) error {
	dir, err := filepath.Abs("../../../docs/examples")
	env.Setenv("EXAMPLES", dir)
	return err
}

// condition knows "root", who may list every directory, and "whole", of what takes long.
func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Getuid() == 0, nil
	case "whole":
		return corpus.Whole(), nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}
