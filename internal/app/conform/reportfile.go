package conform

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/meerkat-go/conformance/conform/report"
	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/fileutil"
)

// reportFile is one report to write.
type reportFile struct {
	path  string
	write func(io.Writer, *report.Run) error
}

var reportWriters = map[string]func(io.Writer, *report.Run) error{
	"json":  func(w io.Writer, r *report.Run) error { return report.WriteJSON(w, r) },
	"junit": report.WriteJUnit,
}

// parseReportFlags reads KIND=FILE. It finds a folder that does not exist before
// the run, not after it.
func parseReportFlags(list []string) ([]reportFile, error) {
	var files []reportFile
	for _, entry := range list {
		kind, path, ok := strings.Cut(entry, "=")
		write, known := reportWriters[kind]
		switch {
		case kind == "html" || kind == "md":
			return nil, missingError("--report "+kind, "use json=FILE or junit=FILE")
		case !ok || path == "" || !known:
			return nil, cli.Usage("--report: %q is not json=FILE or junit=FILE", entry)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return nil, cli.Usage("%s: its directory does not exist; create it", path)
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil, cli.Usage("%s: is a directory; name a file", path)
		}
		files = append(files, reportFile{path, write})
	}
	return files, nil
}

// save writes the whole report or nothing: a report cut in half would read as a
// shorter run.
func (f reportFile) save(r *report.Run) error {
	var text bytes.Buffer
	err := f.write(&text, r)
	if err == nil {
		err = fileutil.WriteFile(f.path, text.Bytes(), 0o600)
	}
	if err != nil {
		return fmt.Errorf("%s: cannot be written: %w", f.path, fileutil.Reason(err))
	}
	return nil
}
