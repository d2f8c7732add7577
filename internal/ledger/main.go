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
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/meerkat-go/conformance/internal/corpus"
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
	only := flags.String("only", strings.Join(sectionNames()[1:], ","), "these sections only; run is one more")
	ignore := flags.String("ignore", "", "diff: leave out these kinds of outcome, for example message,observed")
	most := flags.Int("lines", 40, "diff: print at most so many lines of each section")
	flags.StringVar(&b.traffic, "traffic", traffic, "folder of the recorded traffic; cases and traffic-chat beside it are read as well")
	flags.StringVar(&b.kept, "kept", "", "folder of recordings that were kept of runs, for the section of this name")
	flags.StringVar(&b.agreement, "agreement", "internal/e2e/testdata/agreement", "folder of the written requests, PROVIDER.yaml")
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
			input, outcome = strings.ReplaceAll(input, filepath.Dir(folder)+"/", ""), strings.ReplaceAll(outcome, filepath.Dir(folder)+"/", "")
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
	if out, err := exec.Command("go", "build", "-o", filepath.Join(b.scratch, "conform"), "./cmd/conform").CombinedOutput(); err != nil {
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

// compareLedgers prints what differs between two ledgers, by section. Sections that the new ledger
// does not hold are left out.
func compareLedgers(out io.Writer, before, after string, only, ignore []string, most int) error {
	was, err := readLedger(before, ignore)
	if err != nil {
		return err
	}
	is, err := readLedger(after, ignore)
	if err != nil {
		return err
	}
	differs := false
	for _, name := range sectionNames() {
		if len(is[name]) == 0 || !slices.Contains(only, name) {
			fmt.Fprintf(out, "%-10s not compared\n", name)
			continue
		}
		changed := compareSection(was[name], is[name])
		fmt.Fprintf(out, "%-10s %d lines, %d differ\n", name, len(is[name]), len(changed))
		counts := map[string]int{}
		for _, line := range changed {
			counts[line[:1]+" "+kindOf(line)]++
		}
		for _, kind := range []string{"verdict", "finding", "message", "observed", "answer"} {
			if gone, added := counts["- "+kind], counts["+ "+kind]; gone+added > 0 {
				fmt.Fprintf(out, "  %-8s -%d +%d\n", kind, gone, added)
			}
		}
		for _, line := range changed[:min(most, len(changed))] {
			fmt.Fprintln(out, line)
		}
		differs = differs || len(changed) > 0
	}
	if differs {
		return errDiffers
	}
	_, err = fmt.Fprintln(out, "equal")
	return err
}

// readLedger returns the sorted lines of each section, without the kinds to ignore.
func readLedger(path string, ignore []string) (map[string][]string, error) {
	data, err := os.ReadFile(path)
	lines := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		name, _, _ := strings.Cut(line, "\t")
		if line = strings.TrimSuffix(line, "\n"); !slices.Contains(ignore, kindOf(line)) {
			lines[name] = append(lines[name], line)
		}
	}
	return lines, err
}

// kindOf is the first word of a line's outcome.
func kindOf(line string) string {
	kind, _, _ := strings.Cut(line[strings.LastIndexByte(line, '\t')+1:], " ")
	return kind
}

// compareSection merges two sorted lists and returns the lines that only one of them has.
func compareSection(was, is []string) (changed []string) {
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0] < is[0]:
			changed, was = append(changed, "- "+was[0]), was[1:]
		case len(was) == 0 || is[0] < was[0]:
			changed, is = append(changed, "+ "+is[0]), is[1:]
		default:
			was, is = was[1:], is[1:]
		}
	}
	return changed
}
