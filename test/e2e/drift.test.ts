/** Drift of a resource that a real terraform has made elsewhere, and that was changed there by hand. */
import { createServer } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Configuration } from "../../protocol/configurations.ts";
import type { Job } from "../../protocol/jobs.ts";
import {
  startProviderRegistry,
  type ProviderRegistry,
} from "../helpers/agent/provider-registry.ts";
import { userMachine, type UserMachine } from "../helpers/cli/user-machine.ts";
import { words } from "../helpers/console/forms.ts";
import { folderForFile } from "../helpers/machine/folders.ts";
import { makeCertificate } from "../helpers/network/certificate.ts";
import { listen, type Listening } from "../helpers/network/listen.ts";
import { planeForFile } from "../helpers/plane/plane-for-file.ts";
import { openPerson } from "../helpers/people/sign-in.ts";

const { plane } = planeForFile();
const certificate = makeCertificate(folderForFile(), "localhost");
const cloud = new Map<string, string>();
let server: Listening;
let registry: ProviderRegistry;
let machine: UserMachine;
beforeAll(async () => {
  server = await listen(
    createServer((request, response) => {
      const path = request.url ?? "";
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () => {
        if (request.method === "PUT") cloud.set(path, body);
        if (request.method === "DELETE") cloud.delete(path);
        const content = cloud.get(path);
        response.writeHead(content === undefined ? 404 : 200).end(content);
      });
    }),
  );
  registry = await startProviderRegistry(certificate);
  registry.publish("thing", "1.0.0");
  machine = await userMachine(plane, { agent: { SSL_CERT_FILE: certificate.file } });
});
afterAll(async () => {
  await machine[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

test("a resource that was changed by hand is found, accepted, and put back", async () => {
  const main = `
terraform {
  required_providers {
    thing = { source = "${registry.host}/team/thing" }
  }
}
resource "thing_note" "one" {
  url     = "${server.url}/one"
  content = "as deployed"
}
`;
  const source = { type: "inline" as const, files: { "main.tf": main } };
  const id = await machine.user.configure({ name: "notes", source });
  const read = () => machine.json<Configuration>("configurations", "show", "notes");
  const check = () => machine.run("drift", "check", "notes", "--wait");
  await machine.json("jobs", "deploy", "notes", "--wait");
  expect(cloud.get("/one")).toBe("as deployed");
  expect(await check()).toMatchObject({ exitCode: 0 });

  cloud.set("/one", "by hand");
  const found = await check();
  expect(found).toMatchObject({ exitCode: 2 });
  expect(found.stdout).toMatch(/^drift +drifted: 1 resource differs$/m);
  expect(found.stdout).toContain("thing_note.one");
  expect(found.stdout).toContain('"as deployed" → "by hand"');
  expect(await read()).toMatchObject({ drift: { status: "drifted", resources: 1 } });
  expect((await machine.run("configurations", "list")).stdout).toMatch(/DEPLOYED, drifted/);
  expect((await machine.run("zones", "show", (await read()).zone_id)).stdout).toContain(
    "notes (DEPLOYED, drifted)",
  );
  const ada = await openPerson(plane, machine.user.email);
  const page = async (path: string) => words(await ada.page(path));
  expect(await page(`/configurations/${id}`)).toMatch(/Drifted: 1 resource differs/);
  expect(await page("/")).toMatch(/1 configuration has drifted/);
  expect(await page("/search?q=notes")).toMatch(/notes Drifted/);
  expect(await page("/zones")).toMatch(/1 deployed 1 drifted/);

  // Put back: the resource becomes what it was.
  const plan = await machine.json<Job>("drift", "put-back", "notes", "--wait");
  expect(plan).toMatchObject({ status: "SUCCESS", changes: { update: 1 } });
  await machine.json("jobs", "deploy", "--plan", plan.id, "--wait");
  expect(cloud.get("/one")).toBe("as deployed");
  expect(await read()).toMatchObject({ drift: { status: "in_sync" } });
  expect(await check()).toMatchObject({ exitCode: 0 });

  // Accept: the state becomes what is there, and the resource stays.
  cloud.set("/one", "by hand again");
  expect(await check()).toMatchObject({ exitCode: 2 });
  const accepted = await machine.json<Job>("drift", "accept", "notes", "--wait");
  expect(accepted).toMatchObject({ status: "SUCCESS" });
  expect(cloud.get("/one")).toBe("by hand again");
  expect((await machine.run("state", "pull", "notes")).stdout).toContain("by hand again");
  expect(await read()).toMatchObject({ drift: { status: "in_sync" } });
  expect(await check()).toMatchObject({ exitCode: 0 });
});
