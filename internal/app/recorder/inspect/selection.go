package inspect

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/meerkat-go/conformance/internal/app/cli"
	"github.com/meerkat-go/conformance/internal/app/recorder/recorderenv"
	"github.com/meerkat-go/conformance/proxy/cassette"
)

// Everything stands for all interactions in place of a number.
const Everything = -1

// parsePlace reads FILE or FILE#N. A file whose own name ends in such a way is taken
// as it is.
func parsePlace(arg string) (file string, n int, err error) {
	at := strings.LastIndexByte(arg, '#')
	if _, err := os.Lstat(arg); at < 0 || !errors.Is(err, fs.ErrNotExist) {
		return arg, Everything, nil
	}
	n, err = strconv.Atoi(arg[at+1:])
	if err != nil || n < 0 {
		return "", 0, cli.Usage("%s: behind # goes the number of an interaction, as recorder inspect %s lists them", arg, arg[:at])
	}
	return arg[:at], n, nil
}

// selection is a cassette, with all interactions or one of them read.
type selection struct {
	*cassette.Cassette
	file  string
	first int // the number of the first interaction in list
	List  []cassette.Interaction
}

// Read opens a cassette and reads interaction n, or everything.
func Read(file string, n int) (*selection, error) {
	opened, err := cassette.Open(file)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	t := &selection{Cassette: opened, file: file}
	if n >= opened.Len() {
		return nil, cli.Usage("%s#%d: has %s, counted from 0", file, n, recorderenv.Interactions(opened.Len()))
	}
	last := opened.Len() - 1
	if n != Everything {
		t.first, last = n, n
	}
	for i := t.first; i <= last; i++ {
		in, err := opened.At(i)
		if err != nil {
			return nil, cli.Fail(recorderenv.ExitGate, "%w", err)
		}
		t.List = append(t.List, in)
	}
	return t, nil
}
