/** Reads the settings of isolation in the form that the levels need. */
import { existsSync, readFileSync } from "node:fs";
import { delimiter } from "node:path";
import type { IsolationSettings } from "./isolation.ts";

export type IsolationConfig = Pick<
  IsolationSettings,
  "users" | "readable" | "container" | "limits"
>;

interface IsolationValues {
  /** `first-last`; undefined: chosen here. */
  readonly userRange: string | undefined;
  readonly readable: readonly string[];
  readonly limits: IsolationConfig["limits"];
  readonly engine: "docker" | "podman";
  readonly image: string | undefined;
}

/** What docker and podman need to find their engine and their images. */
const engineNames =
  /^(HOME|XDG_RUNTIME_DIR|DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS_VERIFY|API_VERSION)|CONTAINER_(HOST|CONNECTION|SSHKEY)|CONTAINERS_CONF|REGISTRY_AUTH_FILE)$/;

/** Between the users of containers and 2³¹, where no distribution has any. */
const usualUsers = [1_880_000_000, 1_896_777_215] as const;
/** To whom files of users outside the namespace seem to belong. */
const overflowUser = 65_534;

/**
 * By the map of the agent's namespace (user_namespaces(7)): the usual users where they exist, as
 * outside of containers, else the last ten thousand of the largest range.
 */
export function usersIn(map: string): readonly [first: number, last: number] {
  const ranges = map
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([first = 0, , count = 0]) => [first, first + count - 1] as const);
  const [from, to] = usualUsers;
  if (ranges.some(([first, last]) => first <= from && to <= last)) return usualUsers;
  const [first, last] = ranges.reduce((a, b) => (b[1] - b[0] > a[1] - a[0] ? b : a));
  const end =
    last >= overflowUser && first < overflowUser && last < 2 * overflowUser
      ? overflowUser - 1
      : last;
  const start = Math.max(first, end - 9999, 1);
  // Only root itself exists: the trial of the level says what is missing.
  return start < end ? [start, end] : usualUsers;
}

const mapFile = "/proc/self/uid_map";

/** Returns undefined if the text is not a range of users. */
export function isolationConfig(
  { userRange, readable, limits, engine, image }: IsolationValues,
  environment: Readonly<Record<string, string | undefined>>,
): IsolationConfig | undefined {
  const usersHere = existsSync(mapFile) ? usersIn(readFileSync(mapFile, "utf8")) : usualUsers;
  const [first = 0, last = 0] = userRange?.split("-").map(Number) ?? usersHere;
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
