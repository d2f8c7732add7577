// Package isolate runs programs that are not trusted: with the environment that
// the caller names and no other, within limits of time and output, and so that
// nothing of them is left when they have ended.
//
// Start with [New], [Sandbox.Run] for a program that runs and ends, and
// [Sandbox.Start] for one to talk to:
//
//	level, err := isolate.Detect(ctx, isolate.Auto) // once: what does this machine allow?
//	sandbox, err := isolate.New(isolate.Config{Level: level, Dir: folder})
//	listener, err := sandbox.Listen() // processes reach it at listener.Addr()
//	go http.Serve(listener, handler)
//	result, err := sandbox.Run(ctx, isolate.Command{
//		Args: []string{"node", "agent.mjs"},
//		Env:  []string{"PATH=/usr/bin", "HOME=" + folder, "HTTPS_PROXY=http://" + listener.Addr().String()},
//	})
//	report := sandbox.Close()
//
// What it promises: a process gets no variable of this process's environment.
// What it writes is kept up to a limit; the rest is read and dropped, so that a
// process that floods its output neither fills the memory nor waits for ever. At
// its time limit a process gets SIGTERM, and a moment later everything that it
// started gets SIGKILL. The same happens to what a process leaves behind.
package isolate
