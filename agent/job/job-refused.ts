/** The server refuses for good; the job must not repeat the call. */
export class JobRefused extends Error {
  override readonly name = "JobRefused";
  /** `lost`: another runner or attempt holds the job. `ended`: it may not start. */
  readonly reason: "lost" | "ended" | "refused";
  /** The server's word for it, where it has one. */
  readonly code: string | undefined;
  constructor(reason: JobRefused["reason"], message: string, code?: string) {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}
