/** Cloud credentials of a job. */
import { StepFailed, type Step } from "./context.ts";

/** This version has none to give. A job that asks for an identity must not run with whatever the machine happens to have. */
export const obtainCredentials: Step = {
  name: "credentials",
  async run({ claim }) {
    if (claim.cloud_identity) {
      throw new StepFailed(
        `credentials: cloud identities (here "${claim.cloud_identity.provider}") are not supported by this version of the agent`,
      );
    }
    return {};
  },
};
