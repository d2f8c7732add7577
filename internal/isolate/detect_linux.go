package isolate

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// namespaces are what a container is made of. Without any, its helper adopts the
// processes that lose their parent.
type namespaces struct{ NetworkNamespace, PIDNamespace bool }

// cloneFlags returns the flags that make the namespaces. Mounts and System V
// objects come with processes of their own.
func (n namespaces) cloneFlags() (flags uintptr) {
	if n.NetworkNamespace {
		flags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	}
	if n.PIDNamespace {
		flags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC
	}
	return flags
}

// namespaceError says that the namespaces of a container cannot be made.
type namespaceError struct{ err error }

func (e *namespaceError) Error() string { return "no namespace for it: " + e.err.Error() }
func (e *namespaceError) Unwrap() error { return e.err }

// detectNamespaces finds out which namespaces this user may make, by making them.
// In a container /proc may be out of reach, and with it process namespaces.
func detectNamespaces(ctx context.Context) (namespaces, error) {
	var first error
	for _, n := range []namespaces{{NetworkNamespace: true, PIDNamespace: true}, {NetworkNamespace: true}} {
		err := n.tryOut(ctx)
		if err == nil {
			return n, nil
		}
		if first == nil {
			first = err
		}
	}
	return namespaces{}, describeRefusal(first)
}

// tryOut makes the namespaces with nothing in them.
func (n namespaces) tryOut(ctx context.Context) error {
	c := &helped{ctx: ctx, task: assignment{namespaces: n}}
	cmd := n.helperCommand(ctx)
	if err := c.startProgram(cmd); err != nil {
		return err
	}
	defer c.finishRun()
	return cmd.Wait()
}

func describeRefusal(err error) error {
	if refused := (*namespaceError)(nil); errors.As(err, &refused) {
		err = refused.err
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EACCES) {
		return fmt.Errorf("this system does not let this user make namespaces (%w); in a container, allow them, on Ubuntu set kernel.apparmor_restrict_unprivileged_userns=0", err)
	}
	return fmt.Errorf("this system makes no namespaces for this user (%w)", err)
}
