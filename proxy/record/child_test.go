package record_test

import (
	"fmt"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// children are what the test binary can be instead of a test, by the variable
// that makes it so and whose value is the cassette.
var children = map[string]func(path string, out io.Writer) error{
	crashChild: recordUntilKilled,
}

func TestMain(m *testing.M) {
	for name, run := range children {
		if path := os.Getenv(name); path != "" {
			if err := run(path, os.Stdout); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}
