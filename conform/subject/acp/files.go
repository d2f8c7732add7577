package acp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxFileBytes is the largest file that the agent reads or writes through us.
const maxFileBytes = 4 << 20

// workFolder is the only folder in which the agent reads and writes files through us.
// Links do not lead out of it.
type workFolder struct {
	path string
	root *os.Root
}

func openWorkFolder(path string) (*workFolder, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, err
	}
	return &workFolder{path: path, root: root}, nil
}

// relativePath is path below the folder.
func (w *workFolder) relativePath(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s: is not an absolute path", path)
	}
	for _, base := range []string{w.path, w.root.Name()} {
		if rel, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(rel) {
			return rel, nil
		}
	}
	return "", fmt.Errorf("%s: is outside the session's folder", path)
}

// readLines returns a text file, or count lines of it from the line that is counted from 1.
// 0 is not a limit.
func (w *workFolder) readLines(path string, line, count int) (string, error) {
	rel, err := w.relativePath(path)
	if err != nil {
		return "", err
	}
	file, err := w.root.Open(rel)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, fmt.Errorf("%s: is not a regular file", path))
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("%s: is larger than %d MiB", path, maxFileBytes>>20)
	}
	if err != nil {
		return "", err
	}
	return pickLines(string(data), line, count), nil
}

func pickLines(text string, line, count int) string {
	if line <= 1 && count <= 0 {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	lines = lines[min(max(line-1, 0), len(lines)):]
	if count > 0 {
		lines = lines[:min(count, len(lines))]
	}
	return strings.Join(lines, "")
}

// writeText replaces a text file and makes the folders that it lies in.
func (w *workFolder) writeText(path, content string) error {
	rel, err := w.relativePath(path)
	if err != nil {
		return err
	}
	if len(content) > maxFileBytes {
		return fmt.Errorf("%s: would be larger than %d MiB", path, maxFileBytes>>20)
	}
	if info, err := w.root.Stat(rel); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: is not a regular file", path)
	}
	if err := w.root.MkdirAll(filepath.Dir(rel), 0o700); err != nil {
		return err
	}
	return w.root.WriteFile(rel, []byte(content), 0o600)
}
