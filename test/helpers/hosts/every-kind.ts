/** A stand-in of each kind of host, with the tokens `full` and `weak` or an App. */
import { generateKeyPairSync } from "node:crypto";
import type { Kind } from "../../../control-plane/code-hosts/kinds.ts";
import { startBitbucket } from "./bitbucket.ts";
import { startForgejo } from "./forgejo.ts";
import { allPermissions, startGithub } from "./github.ts";
import { startGitlab } from "./gitlab.ts";
import type { StandIn } from "./stand-in.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const private_key = privateKey.export({ type: "pkcs1", format: "pem" }).toString();

/** The App as the host knows it, and as a connection does. */
export const testApp = { id: "81", publicKey, installation: 55, permissions: allPermissions };
export const appCredential = { id: "81", private_key, installation_id: "55" };

export const startHost: Readonly<Record<Kind, () => Promise<StandIn>>> = {
  github: () => startGithub({ tokens: { full: allPermissions, weak: { pull_requests: "read" } } }),
  github_app: () => startGithub({ app: testApp }),
  gitlab: () => startGitlab({ full: ["api"], weak: ["read_api"] }),
  bitbucket: () =>
    startBitbucket({
      full: ["repository", "repository:write", "pullrequest:write", "webhook"],
      weak: ["repository"],
    }),
  forgejo: () =>
    startForgejo({ full: ["write:repository", "write:issue"], weak: ["read:repository"] }),
};
