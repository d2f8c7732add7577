package artifact

import (
	"context"
	"time"
)

// KeepSwept calls Sweep at once and then each time the interval has passed, until ctx
// ends. report gets the errors of the store; the next Sweep tries again.
func KeepSwept(ctx context.Context, s Store, interval time.Duration, report func(error)) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		if _, err := s.Sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			report(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}
