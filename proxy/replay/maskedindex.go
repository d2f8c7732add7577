package replay

// acquireMasked takes the next free interaction whose recorded request, without the secrets in
// its words, has this key at a level. Texts that look like keys stay: one that was recorded with
// an exemption is compared as it is. Call it after acquire found nothing, because masking all of
// a cassette takes time.
func (x *index) acquireMasked(l Level, key digest) match {
	if x.mask == nil {
		return match{reason: missUnknown}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	found := x.acquireFrom(&x.masked[l-identical], l, key, x.readMasked)
	if found.reason == "" {
		found.form = x.maskedForms[found.at]
	}
	return found
}

// readMasked puts the next interaction into a level's table, if its request has anything to
// mask; mu is held.
func (x *index) readMasked(l Level) {
	t := &x.masked[l-identical]
	at := t.read
	t.read++
	r, err := x.cassette.Request(at)
	if err != nil {
		return // damage reports it, if no other interaction answers
	}
	masked, isMasked := x.mask(r)
	if !isMasked {
		return
	}
	f := formOf(masked)
	if x.maskedForms == nil {
		x.maskedForms = map[int]digest{}
	}
	x.maskedForms[at] = f.computeDigest()
	t.add(f.withoutVolatile(x.rules).reduceTo(l).computeDigest(), at)
}
