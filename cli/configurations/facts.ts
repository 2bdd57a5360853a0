/** What a configuration was made from and where its state is, in words. */
import type { Configuration } from "../../protocol/configurations.ts";

const linkId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Describes the directory from which `windlass up` created a configuration. */
export const originOf = ({ origin }: Pick<Configuration, "origin">): string | undefined =>
  origin !== undefined && linkId.test(origin)
    ? `a directory with the id ${origin} (.windlass/link.json)`
    : origin;

/** Describes where the state is. A server that does not tell it tells what was chosen. */
export function stateOf({
  backend,
  state_backend = backend ?? null,
}: Pick<Configuration, "backend" | "state_backend">): string {
  if (state_backend === "own") return "in the backend that its files declare";
  return state_backend === "managed"
    ? "managed by the control plane"
    : "decided by the next deployment: in the backend that its files declare, else managed by the control plane";
}
