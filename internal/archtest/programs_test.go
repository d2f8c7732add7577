package archtest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	testFrameworks = []string{"testing", "github.com/onsi/ginkgo", "github.com/onsi/gomega"}
	// heavy lists libraries that only the rkat command links. conform has rkat as
	// its built-in subject, and the first command that people run downloads what
	// it links.
	heavy = []string{"modernc.org/sqlite", "github.com/jackc/pgx", "github.com/riverqueue", "go.opentelemetry.io",
		"github.com/prometheus", "github.com/danielgtaylor/huma"}
)

// unlinked lists what programs, and the packages that their users import, must not
// link, directly or not.
var unlinked = map[string][]string{
	"cmd/conform":          slices.Concat(testFrameworks, heavy),
	"cmd/recorder":         slices.Concat(testFrameworks, heavy),
	"cmd/rkat":             testFrameworks,
	"internal/app/conform": slices.Concat(testFrameworks, heavy),
	"internal/app/rkat":    slices.Concat(testFrameworks, heavy), // cmd/rkat gives them in rkat.Backends
	"meerkat":              slices.Concat(testFrameworks, heavy),
	"conform/harness":      slices.Concat(testFrameworks, heavy),
	"vcr":                  slices.Concat(testFrameworks[1:], heavy, []string{"github.com/elazarl/goproxy"}),
}

// TestPrograms holds that no program links a test framework, and that conform and
// its built-in subject stay light.
func TestPrograms(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		forbidden, ok := unlinked[p.name()]
		if under(p.name(), "cmd") && !ok {
			t.Errorf("%s: is not in the list of what programs must not link", p.name())
		}
		seen[p.name()] = true
		for _, d := range p.Deps {
			if underAny(d, forbidden) {
				t.Errorf("%s links %s", p.name(), d)
			}
		}
	}
	for name := range unlinked {
		if !seen[name] {
			t.Errorf("%s: no such package", name)
		}
	}
}

// maxConform is how large conform may be, in bytes. A release has 50,000 less: it holds no path of a checkout.
const maxConform = 34_100_000

// TestConformIsSmall builds conform as a release does, but for -trimpath, with which every package
// would be compiled again.
func TestConformIsSmall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conform")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, module+"cmd/conform").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() > maxConform {
		t.Errorf("conform has %d bytes, more than %d; go build -ldflags=-dumpdep names as <ReflectMethod> what keeps every method", info.Size(), maxConform)
	}
}

// executables are what files of programs begin with: those of Linux, macOS and Windows.
var executables = [][]byte{[]byte("\x7fELF"), []byte("\xcf\xfa\xed\xfe"), []byte("MZ")}

// TestNoProgramIsTracked holds that the repository has no program that was built: go build
// without -o leaves one in the folder of a main package.
func TestNoProgramIsTracked(t *testing.T) {
	tracked, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skip("not a checkout of git: ", err)
	}
	for _, path := range strings.Split(strings.TrimRight(string(tracked), "\x00"), "\x00") {
		beginning := firstBytes(t, filepath.Join(root, path))
		if slices.ContainsFunc(executables, func(e []byte) bool { return bytes.HasPrefix(beginning, e) }) {
			t.Errorf("%s: is a program that was built; run: git rm --cached %s", path, path)
		}
	}
}

// firstBytes returns the first four bytes of a file, none of one that is removed.
func firstBytes(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	beginning, err := io.ReadAll(io.LimitReader(f, 4))
	if err != nil {
		t.Fatal(err)
	}
	return beginning
}
