/** What a configuration was made from, in words. */
import type { Configuration } from "../../protocol/configurations.ts";

const linkId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Describes the directory from which `windlass up` created a configuration. */
export const originOf = ({ origin }: Pick<Configuration, "origin">): string | undefined =>
  origin !== undefined && linkId.test(origin)
    ? `a directory with the id ${origin} (.windlass/link.json)`
    : origin;
