package server

// NewBoundedListener is for tests with pipes.
var NewBoundedListener = newBoundedListener
