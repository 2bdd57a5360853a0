/** What a configuration was made from and where its state is, in words. */
import type { Configuration } from "../../protocol/configurations.ts";

const linkId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Describes the directory from which `windlass up` created a configuration. */
export const originOf = ({ origin }: Pick<Configuration, "origin">): string | undefined =>
  origin !== undefined && linkId.test(origin)
    ? `a directory with the id ${origin} (.windlass/link.json)`
    : origin;

/** Describes where the state is: as chosen, else where the last deployment kept it. */
export function stateOf({
  backend,
  deployed,
}: Pick<Configuration, "backend" | "deployed">): string {
  const found = backend ?? (deployed && (deployed.serial === null ? "own" : "managed"));
  if (found === "own") return "in the backend that its files declare";
  return found === "managed"
    ? "managed by the control plane"
    : "in the backend that its files declare, else managed by the control plane";
}
