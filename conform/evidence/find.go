package evidence

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/meerkat-go/conformance/proxy/cassette/interchange"
)

// Found is one recording that can be read: a file, a case directory, or something
// that looks like one and cannot be opened, in which case Read says why. It may
// be read from any goroutine.
type Found struct {
	// Path is what reports call it: the path asked for, joined with the place
	// below it, with slashes.
	Path string
	// Named is set for a path asked for itself, not found below a directory.
	Named bool

	fsys fs.FS
	name string // in fsys
	err  error
}

// Find lists the recordings at path in lexical order: the file itself, or every
// case directory and every file below the directory whose name is one of a recording
// (*.yaml, *.yaml.partial, *.yml, *.har, *.json, gzipped or not) or that another tool keeps
// traffic in (*.mitm). What cannot be opened is in the list too. The error is for path alone.
func Find(path string) ([]Found, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadableError(path, err)
	}
	if info.IsDir() {
		return FindFS(os.DirFS(path), filepath.ToSlash(filepath.Clean(path))), nil
	}
	dir, base := filepath.Split(filepath.Clean(path))
	if dir == "" {
		dir = "."
	}
	return []Found{{Path: path, Named: true, fsys: os.DirFS(dir), name: base}}, nil
}

// FindFS lists the recordings in fsys; shown is what reports call its root.
func FindFS(fsys fs.FS, shown string) []Found {
	w := walker{fsys: fsys, displayRoot: shown}
	w.walkDir(".")
	if len(w.found) == 1 && w.found[0].name == "." {
		w.found[0].Named = true
	}
	return w.found
}

type walker struct {
	fsys        fs.FS
	displayRoot string
	found       []Found
}

func (w *walker) addFound(name string, err error) {
	w.found = append(w.found, Found{Path: path.Join(w.displayRoot, name), fsys: w.fsys, name: name, err: err})
}

var recordingName = regexp.MustCompile(`\.(ya?ml(\.partial)?|har|jsonl?|ndjson|mitm|flows?|saz|chlsj?|pcap(ng)?|gz)$`)

func (w *walker) walkDir(name string) {
	entries, err := fs.ReadDir(w.fsys, name)
	if err != nil {
		w.addFound(name, unreadableError(path.Join(w.displayRoot, name), err))
		return
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return interchange.IsCaseFile(e.Name()) }) {
		w.addFound(name, nil)
		return
	}
	for _, e := range entries {
		below := path.Join(name, e.Name())
		switch {
		case e.IsDir():
			w.walkDir(below)
		case recordingName.MatchString(e.Name()):
			w.addFound(below, nil)
		}
	}
}

// Read reads the recording. Its errors are one line that names the path; a file
// that is not a recording wraps ErrNotRecording.
func (f Found) Read() (Recording, error) {
	if f.err != nil {
		return Recording{}, f.err
	}
	rec, err := interchange.ReadFile(f.fsys, f.name, f.Path)
	return newRecording(f.Path, rec), err
}

// Load reads every recording at path; what cannot be read is reported in the
// joined error and the rest is returned. Files below a directory that are
// not recordings are left out.
func Load(path string) ([]Recording, error) {
	found, err := Find(path)
	if err != nil {
		return nil, err
	}
	var all []Recording
	var errs []error
	for _, f := range found {
		rec, err := f.Read()
		switch {
		case err == nil:
			all = append(all, rec)
		case f.Named || !errors.Is(err, ErrNotRecording):
			errs = append(errs, err)
		}
	}
	return all, errors.Join(errs...)
}
