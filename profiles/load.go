package profiles

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/meerkat-go/conformance/internal/datafile"
	"github.com/meerkat-go/conformance/internal/spelling"
)

//go:embed *.yaml
var embedded embed.FS

// maxSize bounds a profile, in bytes.
const maxSize = 256 << 10

// Find returns the embedded profile of a name, or the profile in a file: what
// holds a path separator or ends in .yaml or .yml is a file.
func Find(nameOrPath string) (*Profile, error) {
	if isFile(nameOrPath) {
		return Load(nameOrPath)
	}
	return Embedded(nameOrPath)
}

func isFile(nameOrPath string) bool {
	return strings.ContainsRune(nameOrPath, filepath.Separator) ||
		slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(nameOrPath))
}

// Names lists the embedded profiles in order.
func Names() []string {
	files, err := fs.Glob(embedded, "*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(file, ".yaml")
	}
	return names
}

// ThinkingAdvice says how an agent is asked to let the model think. The agent is known by the
// name of its embedded profile or of its program.
func ThinkingAdvice(agent string) string {
	for _, name := range Names() {
		p, err := Embedded(name)
		if err != nil || p.Effort == nil || name != agent && (len(p.Run) == 0 || string(p.Run[0]) != agent) {
			continue
		}
		var args []string
		for _, t := range p.Effort.Args {
			args = append(args, strings.ReplaceAll(string(t), "{effort}", "high"))
		}
		return agent + " is asked to with " + strings.Join(args, " ")
	}
	return "give the command the option by which the agent asks for it, or name it in effort: of a profile"
}

// Embedded returns the embedded profile of a name. For an unknown name the error
// names the nearest one and all there are.
func Embedded(name string) (*Profile, error) {
	data, err := embedded.ReadFile(name + ".yaml")
	if err != nil {
		known := Names()
		return nil, fmt.Errorf("profile %s: no such profile, and profiles of your own are files that end in .yaml; %s",
			name, spelling.Advice(name, known))
	}
	return Parse("profiles/"+name+".yaml", data)
}

// Load reads the profile in a file of at most 256 KiB.
func Load(path string) (*Profile, error) {
	data, err := readProfile(path)
	if err != nil {
		return nil, err
	}
	p, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	if p.Path, err = filepath.Abs(path); err != nil {
		return nil, pathError(path, err)
	}
	return p, nil
}

// readProfile reads a file. What is too large is left for the parser to refuse.
func readProfile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, pathError(path, err)
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a file; name a profile in YAML", path)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return nil, pathError(path, err)
	}
	return data, nil
}

func pathError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: does not exist; write one with: conform init -- CMD {prompt}", path)
	}
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	return fmt.Errorf("%s: cannot be read: %w", path, err)
}

// Parse reads a profile. file names it in errors. The error joins a fault with file, line and
// column for each thing that is wrong, in the order of their places.
func Parse(file string, data []byte) (*Profile, error) {
	p := new(Profile)
	f := datafile.Read(file, data, p, datafile.Options{MaxBytes: maxSize, Rules: rules})
	checkProfile(f, p)
	if !f.OK() {
		return nil, f.Err()
	}
	return p, nil
}
