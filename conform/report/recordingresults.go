package report

import "slices"

// Results returns the results of the checks that saw something in the recording, in the
// order of the catalogue. The slice is the caller's; what it points to is shared.
func (r Recording) Results() []Result { return slices.Clone(r.results) }
