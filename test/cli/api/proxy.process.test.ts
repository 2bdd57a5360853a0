/** The client behind an HTTP proxy. */
import { createServer, request } from "node:http";
import { expect, test } from "vitest";
import { addUser } from "../../helpers/people/user.ts";
import { windlass } from "../../helpers/cli/windlass.ts";
import { listen } from "../../helpers/network/listen.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";

const { plane } = planeForFile();

test("requests use the proxy from the environment, except to this machine and to NO_PROXY hosts", async () => {
  const { environment } = await addUser(plane);
  const { port } = new URL(plane.url);
  const proxied: string[] = [];
  let isCaptivePortal = false;
  const proxy = createServer(({ method, url = "", headers }, response) => {
    proxied.push(url);
    if (isCaptivePortal) return void response.end("<html>Sign in to this network</html>");
    const target = `${plane.url}${new URL(url).pathname}`;
    request(target, { method, headers }, (upstream) => {
      response.writeHead(upstream.statusCode ?? 500, upstream.headers);
      upstream.pipe(response);
    }).end();
  });
  await using listening = await listen(proxy);
  const HTTP_PROXY = listening.url;
  const zones = (env: Record<string, string>) =>
    windlass(["zones", "list", "--json"], { env: { ...environment, HTTP_PROXY, ...env } });

  // Only the proxy can resolve this name.
  const elsewhere = { WINDLASS_URL: `http://windlass.test:${port}` };
  expect(await zones(elsewhere)).toMatchObject({ exitCode: 0, stderr: "" });
  expect(proxied).toEqual([`http://windlass.test:${port}/api/cli/zones`]);
  const direct = await zones({ ...elsewhere, NO_PROXY: "windlass.test" });
  expect(direct.exitCode).toBe(1);
  expect(direct.stderr).toContain("windlass.test");
  expect(await zones({})).toMatchObject({ exitCode: 0, stderr: "" });
  expect(proxied).toHaveLength(1);

  // curl, git and terraform accept an address without a scheme too.
  const bare = { HTTP_PROXY: HTTP_PROXY.replace("http://", "") };
  expect(await zones({ ...elsewhere, ...bare })).toMatchObject({ exitCode: 0, stderr: "" });
  expect(proxied).toHaveLength(2);
  for (const wrong of ["ftp://user:planted@proxy:3128", "http://", "user:planted@proxy:port"])
    expect(await zones({ HTTP_PROXY: wrong })).toMatchObject({
      exitCode: 78,
      stdout: "",
      stderr:
        "windlass: HTTP_PROXY is not a proxy address. Write it like http://proxy.example.com:3128",
    });

  isCaptivePortal = true;
  const portal = await zones(elsewhere);
  expect(portal).toMatchObject({ exitCode: 1, stdout: "" });
  expect(portal.stderr).toBe(
    `windlass: http://windlass.test:${port} is not a Windlass server. Check the address.`,
  );
});
