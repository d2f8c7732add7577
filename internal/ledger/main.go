// Command ledger writes down what the referee and the simulator say of everything
// that they can be asked about, a line an outcome, and compares two such ledgers. A
// change that only moves code leaves the ledger as it was:
//
//	go run ./internal/ledger write before.txt     # before the change
//	go run ./internal/ledger write after.txt      # after the change
//	go run ./internal/ledger diff before.txt after.txt
//
// A line is "section, tab, input, tab, outcome". The first word of an outcome is its
// kind: verdict, finding, message, observed or answer. The command runs in the root of
// the repository. Package corpus finds the recordings that the repository does not hold.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/corpus"
	_ "github.com/meerkat-go/conformance/wires/all"
)

var errDiffers = errors.New("the ledgers differ")

func main() {
	switch err := runCommand(os.Args, os.Stdout); {
	case errors.Is(err, errDiffers):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "ledger:", err)
		os.Exit(2)
	}
}

func runCommand(args []string, out io.Writer) error {
	traffic, _ := corpus.Find()
	b := book{}
	flags := flag.NewFlagSet("ledger", flag.ExitOnError)
	only := flags.String("only", strings.Join(sectionNames()[2:], ","),
		"these sections only; run and wire are two more")
	ignore := flags.String("ignore", "", "diff: leave out these kinds of outcome, for example message,observed")
	most := flags.Int("lines", 40, "diff: print at most so many lines of each section")
	flags.StringVar(&b.traffic, "traffic", traffic,
		"folder of the recorded traffic; cases and traffic-chat beside it are read as well")
	flags.StringVar(&b.kept, "kept", "",
		"folder with recordings and evidence (JSON) that were kept of runs, for the section of this name")
	flags.StringVar(&b.agreement, "agreement", "internal/e2e/testdata/agreement",
		"folder of the written requests, PROVIDER.yaml")
	_ = flags.Parse(args[min(2, len(args)):]) // ends the program where it fails
	split := func(list string) []string { return strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) }
	switch files := flags.Args(); {
	case len(files) == 1 && args[1] == "write":
		return b.writeSections(files[0], split(*only))
	case len(files) == 2 && args[1] == "diff":
		return compareLedgers(out, files[0], files[1], split(*only), split(*ignore), *most)
	}
	return errors.New("say write [-FLAGS] FILE, or diff [-FLAGS] OLD NEW")
}

// book is a ledger that is being written, and where its inputs are.
type book struct {
	traffic, kept, agreement string
	scratch, section         string
	lines                    []string
}

// addLine writes one line. A long outcome is cut, and a hash of the whole follows. Names of
// folders that the repository does not hold are shortened.
func (b *book) addLine(input, kind, format string, args ...any) {
	outcome := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	for _, folder := range []string{b.traffic, b.kept} {
		if folder != "" {
			input, outcome = strings.ReplaceAll(input, filepath.Dir(folder)+"/", ""),
				strings.ReplaceAll(outcome, filepath.Dir(folder)+"/", "")
		}
	}
	if len(outcome) > 400 {
		outcome = strings.ToValidUTF8(outcome[:400], "") + "… " + hashOf([]byte(outcome))
	}
	b.lines = append(b.lines, b.section+"\t"+input+"\t"+kind+" "+outcome)
}

// writeSections fills the book section by section and saves it sorted.
func (b *book) writeSections(path string, only []string) (err error) {
	if b.scratch, err = os.MkdirTemp("", "ledger-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.scratch) }() // nothing in it is needed any more
	if b.traffic == "" {
		return errors.New("there is no recorded traffic; name its folder with -traffic")
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(b.scratch, "conform"),
		"./cmd/conform").CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/conform: %w\n%s", err, out)
	}
	for _, s := range sections {
		if !slices.Contains(only, s.name) {
			continue
		}
		began, before := time.Now(), len(b.lines)
		b.section = s.name
		if err := s.fill(b); err != nil {
			return fmt.Errorf("section %s: %w", s.name, err)
		}
		fmt.Fprintf(os.Stderr, "%-10s %6d lines %6.1f s\n", s.name, len(b.lines)-before, time.Since(began).Seconds())
	}
	slices.Sort(b.lines)
	return os.WriteFile(path, []byte(strings.Join(b.lines, "\n")+"\n"), 0o600)
}

// compareLedgers prints what differs between two ledgers, by section. A section that the
// new ledger does not hold is not compared.
func compareLedgers(out io.Writer, before, after string, only, ignore []string, most int) error {
	counts, sections := map[string]int{}, map[string]bool{} // of each line: in the new ledger less in the old one
	for file, step := range map[string]int{before: -1, after: 1} {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(data)) {
			name, _, _ := strings.Cut(line, "\t")
			counts[strings.TrimSuffix(line, "\n")] += step
			sections[name] = sections[name] || file == after
		}
	}
	changed, kinds := map[string][]string{}, map[string]int{} // by section, and by section and kind
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		name, outcome, _ := strings.Cut(line, "\t")
		kind, _, _ := strings.Cut(outcome[strings.LastIndexByte(outcome, '\t')+1:], " ")
		if n := counts[line]; n != 0 && !slices.Contains(ignore, kind) {
			sign := map[bool]string{true: "+", false: "-"}[n > 0]
			changed[name] = append(changed[name], sign+" "+line)
			kinds[name+" "+sign+kind]++
		}
	}
	differs := false
	for _, name := range sectionNames() {
		if !sections[name] || !slices.Contains(only, name) {
			fmt.Fprintf(out, "%-10s not compared\n", name)
			continue
		}
		fmt.Fprintf(out, "%-10s %d lines differ\n", name, len(changed[name]))
		for _, kind := range []string{"verdict", "finding", "message", "observed", "answer"} {
			if gone, added := kinds[name+" -"+kind], kinds[name+" +"+kind]; gone+added > 0 {
				fmt.Fprintf(out, "  %-8s -%d +%d\n", kind, gone, added)
			}
		}
		for _, line := range changed[name][:min(most, len(changed[name]))] {
			fmt.Fprintln(out, line)
		}
		differs = differs || len(changed[name]) > 0
	}
	if differs {
		return errDiffers
	}
	_, err := fmt.Fprintln(out, "equal in what was compared")
	return err
}
