//go:build !linux

package isolate

import (
	"context"
	"errors"
	"net"
	"os/exec"
)

// namespaces are what a container on this system can be made of: none.
type namespaces struct{}

func detectNamespaces(context.Context) (namespaces, error) {
	return namespaces{}, errors.New("only Linux has network namespaces")
}

func (s *Sandbox) newListener() (net.Listener, error) { return listenOnHost() }

// newCommand returns cmd with the environment of the command and no other.
func newCommand(ctx context.Context, path string, command Command) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, command.Args[1:]...) //nolint:gosec // the program that the caller wants run
	cmd.Args[0] = command.Args[0]
	cmd.Env = append([]string{}, command.Env...) // never nil, which would be our own
	cmd.Dir = command.Dir
	return cmd
}
