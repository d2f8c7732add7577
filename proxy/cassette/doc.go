// Package cassette stores recorded HTTP interactions in one YAML file. Stock
// go-vcr v2.1.0 loads and replays the file; it also keeps what go-vcr forgets:
// chunk boundaries and times, trailers, protocols, and how a response ended.
//
// [Open] reads a cassette, [Create] starts one:
//
//	c, err := cassette.Open("session.yaml")
//	for interaction, err := range c.All() {
//		fmt.Println(interaction.Request.URL, interaction.Response.Status, err)
//	}
//
//	w, err := cassette.Create("new.yaml", cassette.Meta{Provenance: cassette.ProvenanceLive}, cassette.CreateOptions{})
//	err = w.Append(interaction)
//	err = w.Close()
//
// A file consists of a head (meta, version, the word "interactions:"), items each
// followed by a seal comment, and a closing comment with the count. A seal is a
// hash over the item and the seal before it, so that no item can change or vanish
// unnoticed. While the file is being written it is called x.yaml.partial and is
// whole up to its last seal; Close gives it its name, [Recover] finishes one that
// was interrupted. docs/cassette-format.md specifies the format. Format 1 is
// stable: a newer build reads it.
//
// Reading is safe for concurrent use and verifies each seal. What Append has written
// survives the end of the process, and after at most 100 ms, when the disk is synced,
// a power failure. Files have mode 0600. Nothing here redacts: what is appended reaches
// the disk as it is.
package cassette
