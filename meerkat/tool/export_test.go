package tool

// What tests outside of the package look at.
const (
	DefaultMaxText = defaultMaxText
	DefaultMaxData = defaultMaxData
)

var SanitizeResult = sanitizeResult
