package gate

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
)

// A secret in base64 is found at every place in a run of letters, in both alphabets, and so
// is a well-known key. Runs of other letters are not decoded at all.
func TestCodedPlaces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	key := "sk-ant-" + "api03-" + strings.Repeat("Ab3dEf9hIj", 3)
	secrets := newSecretSet(canary, "\xff\xfe\xfd-secret-\xff\x00\x01")
	for secret := range map[string]bool{canary: true, key: true, "\xff\xfe\xfd-secret-\xff\x00\x01": true} {
		for before := range 9 {
			for lost := range 4 { // letters of an earlier group that stand before the run
				text := make([]byte, before)
				for i := range text {
					text[i] = byte(random.Uint32())
				}
				text = append(append(text, ' '), secret+" and more"...)
				for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
					run := enc.EncodeToString(text)
					if lost > 0 {
						run = "AAAA"[lost:] + run
					}
					s := &search{secrets: secrets, exempt: map[string]bool{}}
					if hit := s.searchBase64([]byte(`{"data":"`+run+`"}`), everything, false); hit == nil {
						t.Errorf("%q is not found after %d bytes and %d letters in %s", secret, before, lost, run)
					}
				}
			}
		}
	}
	for _, run := range []string{strings.Repeat("0123456789", 50), strings.Repeat("A", 500), "eHh4", "ab"} {
		if shifts := secrets.shiftsIn([]byte(run)); shifts != [4]bool{} {
			t.Errorf("%s is decoded from %v", run, shifts)
		}
	}
}
