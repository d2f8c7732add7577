package tree

import (
	"encoding/base64"
	"strings"
)

// IsBase64 reports whether text is base64 of either alphabet, padded or not, with line ends
// anywhere.
func IsBase64(text string) bool {
	bare := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "=\r\n"))
	_, err := base64.RawStdEncoding.DecodeString(bare)
	return err == nil
}
