package script_test

// The built-in wires import this package, so only a test outside the package can import them.
import _ "github.com/meerkat-go/conformance/wires/all"
