/** Credentials of a user of the bench's data directory, created as the server creates them. */
import { signToken } from "../../control-plane/services/people/jwt.ts";
import { readConfig } from "../../control-plane/config.ts";
import { openContext } from "../../control-plane/context.ts";
import {
  startCliLogin,
  startSession,
  tokenPair,
} from "../../control-plane/services/people/logins.ts";

const email = "bench@example.com";

/** The headers of a signed-in client. */
export async function signIn(
  dataDirectory: string,
  owner: string,
): Promise<Record<string, string>> {
  const context = await openContext(readConfig({ WINDLASS_DATA_DIR: dataDirectory }));
  try {
    const login = await context.store.write((tx) => startCliLogin(tx, owner, Date.now()));
    const { access_token } = await tokenPair(context, login, email);
    return { authorization: `Bearer ${access_token}` };
  } finally {
    await context.close();
  }
}

/** The headers of a browser that is signed in. */
export async function signInBrowser(
  dataDirectory: string,
  owner: string,
): Promise<Record<string, string>> {
  const context = await openContext(readConfig({ WINDLASS_DATA_DIR: dataDirectory }));
  try {
    const origin = { id: "bench", ip: "127.0.0.1", headers: {} };
    const { login_id: sid } = await context.store.write(async (tx) => {
      // Else nothing permits the person, and the first renewal ends the session.
      await tx.sql
        .updateTable("users")
        .set({ link_email: email })
        .where("id", "=", owner)
        .execute();
      return startSession(tx, { id: owner, email }, { way: "link", origin }, Date.now());
    });
    const token = await signToken(context, "session", { sub: owner, email, sid, jti: sid });
    return { cookie: `windlass_session=${token}` };
  } finally {
    await context.close();
  }
}
