/** A breach that was found in what a client sent. */
export interface Finding {
  /** The check, for example "SIG-005/fields"; `conform explain SIG-005` explains it. */
  check: string;
  requirement: string;
  message: string;
  fix: string;
  /** The cassette or the case. */
  place?: string;
  /** The exchange in it, from 0. */
  exchange?: number;
  /** The member of the request. */
  path?: string;
  /** The byte of the body. */
  offset?: number;
  /** The provider's rule, for example "A-35". */
  rule?: string;
}

/** What was found. */
export interface Verdict {
  /** Whether nothing failed. */
  ok: boolean;
  findings: Finding[];
  /** The findings, and what the recorder said, as sentences; empty if nothing failed. */
  message: string;
  /** The report of conform, by the schema that it names; undefined if nothing was sent. */
  report?: unknown;
}

/** A proxy that records what its clients send. */
export interface Session {
  /** The addresses for SDKs. */
  baseURL: { anthropic: string; openai: string; gemini: string };
  /** The address of the proxy. */
  url: string;
  /** The variables that make a program use the session. */
  variables: Record<string, string>;
  /** Variables that would lead a program around it. */
  remove: string[];
  /** The environment for a program that is to use the session. */
  readonly env: Record<string, string>;
  /** Ends the session and judges what was sent. keep: false drops what was recorded. */
  stop(options?: { keep?: boolean }): Promise<Verdict>;
  /** Ends the session without a verdict. */
  close(): Promise<void>;
}

/** What all sessions take. */
export interface SessionOptions {
  /** More arguments of `recorder record`, for example ["--scrub", "date"]. */
  args?: string[];
  /** The ways in; default "mitm,base-url". */
  ingress?: string;
}

export interface RecordOptions extends SessionOptions {
  cassette: string;
  /** once refuses a cassette that exists, new_episodes adds to it, all replaces it. Default once. */
  mode?: "once" | "new_episodes" | "all";
  /** What answers in place of a provider: { anthropic: "http://127.0.0.1:8787/anthropic" }. */
  upstream?: Record<string, string>;
}

export interface ReplayOptions extends SessionOptions {
  cassette: string;
  /** The loosest level at which a request is answered. Default exact. */
  match?: "exact" | "anchored" | "shape" | "nth";
}

export interface SimulateOptions extends SessionOptions {
  /** A scenario by name or file; without one the model calls the tool that the prompt names. */
  scenario?: string;
  seed?: string;
  level?: "strict" | "live" | "lenient";
}

/** Records the requests that reach the session into a cassette. */
export function record(options: RecordOptions): Promise<Session>;
/** Answers requests from a cassette; nothing is sent to a provider. */
export function replay(options: ReplayOptions): Promise<Session>;
/** Answers requests as the providers do, as strictly, without a key. */
export function simulate(options?: SimulateOptions): Promise<Session>;
/** Judges recordings: cassettes, HAR files and those of other tools, or folders of them. */
export function judge(paths: string | string[], options?: { args?: string[] }): Promise<Verdict>;
/** Runs an agent through the cases and judges what it sent. The command holds "{prompt}". */
export function run(command: string[], options?: { args?: string[] }): Promise<Verdict>;

/** An error whose message is a sentence for the user. */
export class ConformError extends Error {}

/** What a fixture takes beside what its session takes. */
export interface FixtureOptions extends SessionOptions {
  /** Default: RECORD_MODE, else none in CI and once elsewhere. none replays only. */
  mode?: "none" | "once" | "new_episodes" | "all";
  /** The cassette. Default: cassettes/FILE/TEST.yaml beside the test. */
  cassette?: string;
  match?: ReplayOptions["match"];
  upstream?: Record<string, string>;
  scenario?: string;
  seed?: string;
  level?: SimulateOptions["level"];
}
