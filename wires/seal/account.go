package seal

import "strings"

// Account returns whose a key is: what follows its last @. Keys without one are
// of the account "". Real keys do not say; a made-up one can, so that a test
// may have two accounts: "test-key" and "test-key@other".
func Account(key string) string {
	if i := strings.LastIndexByte(key, '@'); i >= 0 {
		return key[i+1:]
	}
	return ""
}
