// Package fileutil holds what several parts of the module need from files: a
// lock between processes, files that appear whole or not at all, and the bare
// reason of an I/O error. It uses the standard library and golang.org/x/sys only
// and may be imported by every package of the module.
//
// Start with [WriteFile], [TryLock] and [Reason]:
//
//	if err := fileutil.WriteFile(path, data, 0o600); err != nil {
//		return fmt.Errorf("%s: cannot be written: %w", path, fileutil.Reason(err))
//	}
//
// What it promises: after a crash or on a full disk, a path written by
// [WriteFile] holds the old content or the new content, never a part of either. A
// lock ends with its file or its process; no lock file has to be cleaned up. All
// functions are safe for concurrent use.
package fileutil

import (
	"errors"
	"io/fs"
	"os"
)

// Reason returns the error of the operating system inside err, without the
// operation and the path: "permission denied" instead of "open /x/y: permission
// denied". Use it in messages that already name the path. An error that did not
// come from a file operation is returned as it is; nil stays nil.
func Reason(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	if link := (*os.LinkError)(nil); errors.As(err, &link) {
		return link.Err
	}
	return err
}
