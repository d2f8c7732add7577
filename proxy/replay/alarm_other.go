//go:build !linux

package replay

import (
	"context"
	"time"
)

// alarm is used on Linux only, where the runtime's timers are rounded to
// milliseconds.
type alarm struct{}

func newAlarm(context.Context) *alarm { return nil }

func (*alarm) sleep(time.Duration) {}
func (*alarm) close()              {}
