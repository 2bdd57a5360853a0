import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { request } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { toCliError, withRemedy } from "../../../cli/api/failures.ts";
import { ProblemError } from "../../../protocol/transport.ts";
import { CliError } from "../../../cli/terminal/output.ts";

const server = "https://windlass.example";

test("the message of a refusal has its reason and one remedy", () => {
  const detail = "The provider is not connected.";
  const problem = new ProblemError(409, { code: "provider_not_connected", detail });
  expect(toCliError(problem, server)).toMatchObject({
    message: `${detail} Connect it in the browser: ${server}/settings`,
  });
});

test.each([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
])("a certificate that cannot be verified (%s) has the client's own advice", (code) => {
  const error = Object.assign(new Error("try running Node.js with --use-system-ca"), { code });
  expect(toCliError(error, server)).toMatchObject({
    message: expect.stringMatching(/unknown authority\. Set NODE_EXTRA_CA_CERTS/),
  });
});

test.each([
  ["ECONNRESET", "http://a.test", "check whether the address needs https instead of http."],
  ["UND_ERR_SOCKET", "https://a.test", "check the address and the proxies in between."],
  ["EPROTO", "https://a.test", "Check whether the address needs http instead of https."],
])("the advice for %s at %s suits the address", (code, address, advice) => {
  const { message } = toCliError(Object.assign(new Error("x"), { code }), address) as Error;
  expect(message).toMatch(new RegExp(`^${address} cannot be reached: .*${advice}$`));
});

test("an invalid field of a job is named by its option", () => {
  const fault = (path: string) => ({ path, message: "is not an address" });
  const problem = new ProblemError(400, { errors: [fault("body.targets.0"), fault("body.name")] });
  expect(toCliError(problem, server)).toMatchObject({
    message: "Invalid input:\n  --target (entry 1) is not an address\n  name is not an address",
  });
});

test.each([
  ["refresh_only", "destroy", "--refresh-only cannot be combined with --destroy"],
  ["exclude", "targets", "--exclude cannot be combined with --target"],
])("options that exclude each other are named as they were typed: %s", (field, other, message) => {
  const fault = { path: `body.${field}`, message: `cannot be combined with ${other}` };
  const problem = new ProblemError(400, { errors: [fault] });
  expect(toCliError(problem, server)).toMatchObject({ message });
});

test("https for a server that speaks http is told in words", async () => {
  const plain = createServer((_, response) => response.end());
  await new Promise<void>((listening) => void plain.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void plain.close());
  const address = `https://127.0.0.1:${(plain.address() as AddressInfo).port}`;
  const error = await request(address).catch((reason: unknown) => toCliError(reason, address));
  expect(error).toMatchObject({
    message: `${address} cannot be reached: it does not speak https on this port. Check the port, or whether the address needs http instead of https.`,
  });
});

test("a command adds its own remedy to the refusals that it knows, and to nothing else", () => {
  const detail = "The configuration was changed after the plan was made, so plan again";
  const stale = toCliError(new ProblemError(409, { code: "plan_is_stale", detail }), server);
  const remedies = { plan_is_stale: "Run: windlass jobs plan network" };
  expect(withRemedy(stale, remedies)).toMatchObject({
    message: `${detail}. Run: windlass jobs plan network`,
    exitCode: 1,
  });
  for (const end of ["", ".", ":", " "])
    expect(
      withRemedy(new CliError(`Wrong${end}`, 1, new ProblemError(409, { code: "plan_is_stale" })), {
        plan_is_stale: "Run it",
      }),
    ).toMatchObject({ message: "Wrong. Run it" });
  const others = [toCliError(new ProblemError(404, {}), server), new CliError("x"), "x"];
  for (const other of others) expect(withRemedy(other, remedies)).toBe(other);
});
