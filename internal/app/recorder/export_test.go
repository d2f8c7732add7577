package recorder

import (
	"os/signal"
	"syscall"
)

// HangupIgnored says that SIGHUP is ignored, as under nohup: children inherit that, and
// the process no longer shows it once a test has asked for the signal.
var HangupIgnored = signal.Ignored(syscall.SIGHUP)
