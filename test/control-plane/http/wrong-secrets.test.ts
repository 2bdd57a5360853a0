/** Secrets that are not bound to a user or a worker: how often one address may guess them. */
import { beforeAll, expect, it } from "vitest";
import { ask, clientHeaders } from "../../helpers/plane/plane.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";
import { addOwner } from "../../helpers/plane/rows.ts";

const secret = "s".repeat(40);
const { plane } = planeForFile({
  RELEASE_API_SECRET: secret,
  WINDLASS_TRUSTED_PROXIES: "127.0.0.1",
});
let token: string;
beforeAll(async () => {
  const headers = await clientHeaders(plane, await addOwner(plane.context.store));
  const made = await ask(plane, "POST", "/api/cli/registration-tokens", {
    headers,
    json: { uses: 10 },
  });
  token = String(made.json()["registration_token"]);
});

const kinds: [string, string, (given: string) => Record<string, string>, () => string][] = [
  [
    "release secrets",
    "/api/releases/worker",
    (given) => ({ authorization: `Bearer ${given}` }),
    () => secret,
  ],
  [
    "registration tokens",
    "/api/workers/register",
    (given) => ({ "x-registration-token": given }),
    () => token,
  ],
];

it.each(kinds)("one address may guess %s ten times a minute", async (_, path, headers, right) => {
  let version = 0;
  const send = async (given: string, address: string) => {
    const { status, headers: answered } = await ask(plane, "POST", path, {
      headers: {
        ...headers(given),
        "x-forwarded-for": address,
        "content-type": "application/json",
      },
      body: JSON.stringify({ name: "w", version: `1.0.${(version += 1)}`, release_notes: "" }),
    });
    return status === 429 ? [status, Number(answered["retry-after"]) > 0] : status;
  };
  // Right secrets are not counted.
  for (let n = 0; n < 3; n += 1) expect(await send(right(), "192.0.2.1")).toBe(201);
  for (let n = 0; n < 10; n += 1) expect(await send(`wrong${n}`, "192.0.2.1")).toBe(401);
  expect(await send("wrong", "192.0.2.1")).toEqual([429, true]);
  // Otherwise a guess could still be confirmed.
  expect(await send(right(), "192.0.2.1")).toEqual([429, true]);
  expect(await send(right(), "192.0.2.2")).toBe(201);
});
