package postgrestest

import (
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
)

// serverIDs returns the user that the server runs as. PostgreSQL refuses to run as
// root; ok is false when this process is not root, and the server runs as its user.
func serverIDs() (uid, gid uint32, ok bool) {
	if os.Geteuid() != 0 {
		return 0, 0, false
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		id, _ := strconv.ParseUint(u.Uid, 10, 32)
		group, _ := strconv.ParseUint(u.Gid, 10, 32)
		return uint32(id), uint32(group), true
	}
	return 65534, 65534, true
}

// asServerUser makes a process run as that user. It ends with this one.
func asServerUser() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT, Setpgid: true}
	if uid, gid, ok := serverIDs(); ok {
		attr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	}
	return attr
}

// giveToServer makes that user the owner of paths.
func giveToServer(paths ...string) error {
	uid, gid, ok := serverIDs()
	for _, p := range paths {
		if !ok {
			return nil
		}
		if err := os.Chown(p, int(uid), int(gid)); err != nil {
			return err
		}
	}
	return nil
}

// startBound starts cmd from a thread that lives as long as this process: the kernel
// sends Pdeathsig when the thread that started it ends.
func startBound(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		started <- cmd.Start()
		select {}
	}()
	return <-started
}
