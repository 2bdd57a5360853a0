/** What the environment says about isolation, in the form that the levels take. */
import { delimiter } from "node:path";
import type { IsolationSettings } from "./isolation.ts";

export type IsolationConfig = Pick<
  IsolationSettings,
  "users" | "readable" | "container" | "limits"
>;

interface Given {
  /** `first-last`. */
  readonly WINDLASS_JOB_UIDS: string;
  readonly WINDLASS_JOB_PATHS: readonly string[];
  readonly WINDLASS_CONTAINER_ENGINE: "docker" | "podman";
  readonly WINDLASS_CONTAINER_IMAGE?: string | undefined;
  readonly WINDLASS_JOB_MEMORY_MIB: number;
  readonly WINDLASS_JOB_PROCESSES: number;
  readonly WINDLASS_JOB_FILE_MIB: number;
}

const mebibyte = 1024 * 1024;

/** What docker and podman need to find their engine and their images. */
const engineNames =
  /^(HOME|XDG_RUNTIME_DIR|DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS_VERIFY|API_VERSION)|CONTAINER_(HOST|CONNECTION|SSHKEY)|CONTAINERS_CONF|REGISTRY_AUTH_FILE)$/;

/** Undefined when the users are no range. */
export function isolationConfig(
  given: Given,
  environment: Readonly<Record<string, string | undefined>>,
): IsolationConfig | undefined {
  const [first = 0, last = 0] = given.WINDLASS_JOB_UIDS.split("-").map(Number);
  // 2³¹ and above, and what a 32-bit "nobody" would be, have other meanings on some systems.
  if (first < 1 || last < first || last > 2 ** 31 - 2) return undefined;
  const certificates = [
    environment["SSL_CERT_FILE"] ?? "",
    ...(environment["SSL_CERT_DIR"] ?? "").split(delimiter),
  ];
  return {
    users: process.geteuid?.() === 0 ? [first, last] : undefined,
    readable: [...given.WINDLASS_JOB_PATHS, ...certificates].filter(Boolean),
    limits: {
      memoryBytes: given.WINDLASS_JOB_MEMORY_MIB * mebibyte,
      processes: given.WINDLASS_JOB_PROCESSES,
      fileBytes: given.WINDLASS_JOB_FILE_MIB * mebibyte,
    },
    container: {
      engine: given.WINDLASS_CONTAINER_ENGINE,
      image: given.WINDLASS_CONTAINER_IMAGE,
      environment: Object.fromEntries(
        Object.entries(environment).flatMap(([name, value]) =>
          value !== undefined && engineNames.test(name) ? [[name, value]] : [],
        ),
      ),
    },
  };
}
