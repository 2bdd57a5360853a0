/** The server refuses a call for good, so the job must not repeat it. */
export class JobRefusedError extends Error {
  override readonly name = "JobRefusedError";
  /** `lost`: another worker or attempt holds the job. `ended`: it may not start. */
  readonly reason: "lost" | "ended" | "refused";
  /** The `code` of the server's problem, if it has one. */
  readonly code: string | undefined;
  constructor(reason: JobRefusedError["reason"], message: string, code?: string) {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}
