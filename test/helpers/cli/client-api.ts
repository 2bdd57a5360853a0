import { openApi, type Api } from "../../../cli/api/api.ts";
import { clientHeaders, type Plane } from "../plane/plane.ts";
import type { Owner } from "../plane/rows.ts";

/** Opens the API as a command of the client does. */
export const openClientApi = (url: string, token: string, team?: string): Api =>
  openApi({
    settings: { url, token, directory: "/nowhere" },
    server: undefined,
    profile: undefined,
    team,
  });

/** The same with a new login of this user. */
export async function clientApiOf(plane: Plane, owner: Owner): Promise<Api> {
  const { authorization } = await clientHeaders(plane, owner);
  return openClientApi(plane.url, authorization.replace("Bearer ", ""));
}
