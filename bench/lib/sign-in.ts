/** An access token for a user of the bench's own data directory, made as the server makes one. */
import { readConfig } from "../../control-plane/config.ts";
import { openContext } from "../../control-plane/context.ts";
import { startCliLogin, tokenPair } from "../../control-plane/services/logins.ts";

/** The headers of a signed-in client. */
export async function signIn(
  dataDirectory: string,
  owner: string,
): Promise<Record<string, string>> {
  const context = await openContext(readConfig({ WINDLASS_DATA_DIR: dataDirectory }));
  try {
    const login = await context.store.write((tx) => startCliLogin(tx, owner, Date.now()));
    const { access_token } = await tokenPair(context, login, "bench@example.com");
    return { authorization: `Bearer ${access_token}` };
  } finally {
    await context.close();
  }
}
