package seal

// MAC returns 32 bytes that only a holder of the key can make of use and parts:
// for ids that tell, without a memory, that they were issued and what for.
func (k Key) MAC(use string, parts ...[]byte) []byte {
	f := Facts{Origin: "mac/" + use}
	for _, part := range parts {
		f.Content = append(f.Content, byte(len(part)>>8), byte(len(part)))
		f.Content = append(f.Content, part...)
	}
	return k.tag(f, "", nil)
}
