package conform

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
)

// workdirFlags say in which folder an agent that is a command starts.
type workdirFlags struct {
	workdir string
	inPlace bool
}

func (f *workdirFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.workdir, "workdir", "", "start the agent in a copy of `DIR` (default: an empty folder)")
	flags.BoolVar(&f.inPlace, "in-place", false, "start the agent in --workdir itself, one case after the other")
}

// maxWorkdir bounds what is copied for each case, in bytes.
const maxWorkdir = 1 << 30

var errLargeFolder = errors.New("holds more than 1 GiB, which each case would copy")

// resolveFolder makes the folder absolute and refuses one that cannot be used.
func (f *workdirFlags) resolveFolder() error {
	if f.workdir == "" {
		if f.inPlace {
			return cli.Usage("--in-place: there is no folder to start in; name it with --workdir")
		}
		return nil
	}
	root, err := os.OpenRoot(f.workdir)
	if err != nil {
		return cli.Usage("--workdir %s: %w; name the folder in which you start the agent by hand", f.workdir, fileutil.Reason(err))
	}
	defer func() { _ = root.Close() }() // nothing was written
	temp, full := os.TempDir(), f.workdir
	for _, path := range []*string{&temp, &full} {
		if *path, err = filepath.Abs(*path); err == nil {
			*path, err = filepath.EvalSymlinks(*path)
		}
		if err != nil {
			return cli.Unreadable(*path, err)
		}
	}
	f.workdir = full
	if f.inPlace {
		return nil
	}
	if below, err := filepath.Rel(full, temp); err == nil && filepath.IsLocal(below) {
		return cli.Usage("--workdir %s: holds %s, where its copies would be; name a folder of the agent, or add --in-place", full, temp)
	}
	size := int64(0)
	err = fs.WalkDir(root.FS(), ".", func(_ string, entry fs.DirEntry, err error) error {
		if info, infoErr := entry.Info(); err == nil && infoErr == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		if size > maxWorkdir {
			return errLargeFolder
		}
		return err
	})
	if err != nil {
		return cli.Usage("--workdir %s: %w; name a smaller folder, or add --in-place", full, err)
	}
	return nil
}
