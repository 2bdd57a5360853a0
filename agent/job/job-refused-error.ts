/** The server refuses a call for good, so the job must not repeat it. */
export class JobRefused extends Error {
  override readonly name = "JobRefused";
  /** `lost`: another worker or attempt holds the job. `ended`: it may not start. */
  readonly reason: "lost" | "ended" | "refused";
  /** The `code` of the server's problem, if it has one. */
  readonly code: string | undefined;
  constructor(reason: JobRefused["reason"], message: string, code?: string) {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}
