/** Work on behalf of a person or an access token: its queries see the caller's spaces only. */
import { inSpaces } from "../store/spaces.ts";
import type { UserCaller } from "./callers.ts";

export const onBehalfOf = <T>({ spaces }: UserCaller, work: () => T): T =>
  inSpaces(
    spaces.map(({ space_id }) => space_id),
    work,
  );
