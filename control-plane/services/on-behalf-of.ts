/** Work on behalf of a person or an access token: its queries see the caller's spaces only. */
import { inSpaces } from "../store/spaces.ts";
import type { UserCaller } from "./callers.ts";

export const onBehalfOf = <T>({ spaces }: UserCaller, work: () => T): T =>
  inSpaces(
    spaces.map(({ space_id: id, role, zones, configurations }) =>
      // A role in the whole space permits at least to read all of it.
      role === "none" ? { id, zones: [...zones.keys()], configurations } : { id },
    ),
    work,
  );
