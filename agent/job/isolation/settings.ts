/** Reads the settings of isolation in the form that the levels need. */
import { delimiter } from "node:path";
import type { IsolationSettings } from "./isolation.ts";

export type IsolationConfig = Pick<
  IsolationSettings,
  "users" | "readable" | "container" | "limits"
>;

interface IsolationValues {
  /** `first-last`. */
  readonly userRange: string;
  readonly readable: readonly string[];
  readonly limits: IsolationConfig["limits"];
  readonly engine: "docker" | "podman";
  readonly image: string | undefined;
}

/** What docker and podman need to find their engine and their images. */
const engineNames =
  /^(HOME|XDG_RUNTIME_DIR|DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS_VERIFY|API_VERSION)|CONTAINER_(HOST|CONNECTION|SSHKEY)|CONTAINERS_CONF|REGISTRY_AUTH_FILE)$/;

/** Returns undefined if the text is not a range of users. */
export function isolationConfig(
  { userRange, readable, limits, engine, image }: IsolationValues,
  environment: Readonly<Record<string, string | undefined>>,
): IsolationConfig | undefined {
  const [first = 0, last = 0] = userRange.split("-").map(Number);
  // 2³¹ and above, and the highest 32-bit uids, have other meanings on some systems.
  if (first < 1 || last < first || last > 2 ** 31 - 2) return undefined;
  const certificates = [
    environment["SSL_CERT_FILE"] ?? "",
    ...(environment["SSL_CERT_DIR"] ?? "").split(delimiter),
  ];
  return {
    users: process.geteuid?.() === 0 ? [first, last] : undefined,
    readable: [...readable, ...certificates].filter(Boolean),
    limits,
    container: {
      engine,
      image,
      environment: Object.fromEntries(
        Object.entries(environment).flatMap(([name, value]) =>
          value !== undefined && engineNames.test(name) ? [[name, value]] : [],
        ),
      ),
    },
  };
}
