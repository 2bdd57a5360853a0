/** The address of the agent only redirects, such as http: where https: is served. */
import { pino } from "pino";
import { expect, test } from "vitest";
import { createApi } from "../../../agent/api/api.ts";
import { Revocation } from "../../../agent/api/failures.ts";
import { readConfig } from "../../../agent/config.ts";
import { identify } from "../../../agent/identity.ts";
import { folderForFile } from "../../helpers/machine/folders.ts";
import { redirectingServer } from "../../helpers/network/redirecting-server.ts";

const folder = folderForFile();
const options = {
  workerId: "id",
  workerToken: "token",
  network: {},
  known: { reportsTime: false, provesItself: false, proofKey: undefined, learn: () => undefined },
  retry: { first: 1, most: 1 },
  revocation: new Revocation(30, () => undefined),
};

/** Runs until the first warning, and returns its error. */
async function firstWarning(
  run: (url: string, log: pino.Logger, signal: AbortSignal) => Promise<unknown>,
): Promise<{ error: string; url: string }> {
  await using server = await redirectingServer((path) => `https://windlass.test${path}`);
  const end = new AbortController();
  let error = "";
  const write = (line: string) => {
    ({ error } = JSON.parse(line) as { error: string });
    end.abort();
  };
  await expect(run(server.url, pino({ level: "warn" }, { write }), end.signal)).rejects.toThrow(
    /abort/i,
  );
  return { error, url: server.url };
}

test.each(["claim", "heartbeat"] as const)("a %s says what WINDLASS_URL must be", async (name) => {
  const { error, url } = await firstWarning(async (server, log, signal) => {
    const api = createApi({ ...options, server, log });
    try {
      await (name === "claim"
        ? api.claim(0, "key", signal)
        : api.heartbeat({ version: "1.0.0" }, 0, signal));
    } finally {
      await api.close();
    }
  });
  expect(error).toBe(
    `${url} redirects to https://windlass.test: set WINDLASS_URL to https://windlass.test`,
  );
});

test("the search for a state says what WINDLASS_URL must be, and does not say that there is none", async () => {
  const { error } = await firstWarning(async (server, log, signal) => {
    const api = createApi({ ...options, server, log });
    try {
      await api.forJob("job", 1).hasState("configuration", "token", signal);
    } finally {
      await api.close();
    }
  });
  expect(error).toMatch(/ redirects to .*: set WINDLASS_URL to https:\/\/windlass\.test$/);
});

test("a registration says what WINDLASS_URL must be", async () => {
  const { error, url } = await firstWarning((WINDLASS_URL, log, signal) =>
    identify(
      readConfig({ WINDLASS_URL, WINDLASS_WORK_DIR: folder, WINDLASS_REGISTRATION_TOKEN: "wlr_x" }),
      "process",
      log,
      signal,
    ),
  );
  expect(error).toBe(
    `${url} redirects to https://windlass.test: set WINDLASS_URL to https://windlass.test`,
  );
});
