package rkat

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/meerkat-go/conformance/internal/app/cli"
)

// maxPrompt bounds what is read from stdin and from files, in bytes. No provider
// takes more in a request.
const maxPrompt = 32 << 20

// readPrompt returns the prompt: the argument, stdin if that is "-", or the file. A
// command that must have one reads stdin without being told to, if stdin is not
// a terminal.
func (a *app) readPrompt(ctx context.Context, o *options, args []string, must bool) (string, error) {
	if len(args) > 0 && o.promptFile != "" {
		return "", cli.Usage("--prompt-file %s: there is a prompt already; drop one of the two", o.promptFile)
	}
	var text string
	var err error
	switch {
	case len(args) > 0 && args[0] != "-":
		text = args[0]
	case o.promptFile != "":
		text, err = readText("prompt", o.promptFile)
	case len(args) > 0, must && !cli.IsTerminal(a.Stdin):
		text, err = a.readStdin(ctx)
	case must:
		return "", cli.Usage("prompt: there is none; give it as an argument, on stdin or with --prompt-file")
	default:
		return "", nil
	}
	if err == nil && strings.TrimSpace(text) == "" && must {
		return "", cli.Usage("prompt: it is empty; say something")
	}
	return text, err
}

// readStdin reads stdin until it or ctx ends.
func (a *app) readStdin(ctx context.Context) (string, error) {
	var text []byte
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		text, err = io.ReadAll(io.LimitReader(a.Stdin, maxPrompt+1))
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return "", fmt.Errorf("prompt: stopped before stdin ended: %w", ctx.Err())
	}
	if err != nil {
		return "", fmt.Errorf("prompt: stdin cannot be read: %w", err)
	}
	if len(text) > maxPrompt {
		return "", cli.Usage("prompt: stdin holds more than %d MB; no model takes that", maxPrompt>>20)
	}
	return string(text), nil
}

// readText reads a file that the command line or the configuration names.
func readText(what, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", cli.Usage("%s: %v", what, err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxPrompt+1)) // a device or a pipe has no size
	if err != nil {
		return "", cli.Usage("%s: %v", what, err)
	}
	if len(text) > maxPrompt {
		return "", cli.Usage("%s: %s holds more than %d MB; no model takes that", what, path, maxPrompt>>20)
	}
	return string(text), nil
}
