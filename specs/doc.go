// Package specs owns what is asked of an agent: the requirement catalogue and
// the scenarios that provoke it. It holds formats, parsers and the embedded
// files; it knows neither the player nor the referee.
package specs
