// Package cassette stores recorded HTTP interactions in one YAML file that
// stock go-vcr v2.1.0 loads and replays, and that keeps what go-vcr forgets:
// chunk boundaries and times, trailers, protocols and how a response ended.
//
// A file is a head (meta, version, the word "interactions:"), items each
// followed by a seal comment, and a closing comment with the count. While it is
// being written it is called x.yaml.partial and is whole up to its last seal;
// Close gives it its name. DESIGN §4 has the reasons.
//
// Nothing here redacts: what is appended reaches the disk as it is.
package cassette
