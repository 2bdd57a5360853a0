/**
 * `moto_server` as S3 behind a gate that accepts only unexpired credentials of the strict STS, as
 * AWS does and moto does not.
 */
import { once } from "node:events";
import { createServer, request as ask } from "node:http";
import type { AddressInfo } from "node:net";
import { request } from "undici";
import { startS3 } from "../helpers/store/s3-server.ts";
import type { StrictSts } from "../helpers/agent/strict-sts.ts";

export interface StrictS3 extends AsyncDisposable {
  readonly url: string;
  /**
   * The credentials that signed an accepted request, by their position in what the STS has issued:
   * each once, in order.
   */
  readonly used: number[];
  /** The reasons of refusals. */
  readonly refused: string[];
  /** Returns the text of an object, bypassing the gate. */
  read(bucket: string, key: string): Promise<string>;
}

/** Starts both and creates the bucket. */
export async function startStrictS3(sts: StrictSts, bucket: string): Promise<StrictS3> {
  const moto = await startS3(bucket);
  const { port, url: behind } = moto;

  const used: number[] = [];
  const refused: string[] = [];
  const gate = createServer((incoming, response) => {
    const key = /Credential=([A-Z0-9]+)\/\d{8}\/[a-z0-9-]+\/s3\//.exec(
      incoming.headers.authorization ?? "",
    )?.[1];
    const index = sts.given.findIndex(
      ({ accessKeyId, sessionToken }) =>
        accessKeyId === key && incoming.headers["x-amz-security-token"] === sessionToken,
    );
    const given = sts.given[index];
    const code = !given
      ? "InvalidAccessKeyId"
      : given.ends < Date.now()
        ? "ExpiredToken"
        : undefined;
    if (code) {
      refused.push(code);
      const xml = `<Error><Code>${code}</Code><Message>refused by the gate</Message></Error>`;
      response.writeHead(403, { "content-type": "application/xml" }).end(xml);
      return;
    }
    if (!used.includes(index)) used.push(index);
    const { method, url, headers } = incoming;
    const onward = ask({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    incoming.pipe(onward);
  });
  gate.listen(0, "127.0.0.1");
  await once(gate, "listening");
  return {
    url: `http://127.0.0.1:${(gate.address() as AddressInfo).port}`,
    used,
    refused,
    read: async (from, key) => {
      // Moto checks only anonymous requests.
      const authorization = "AWS4-HMAC-SHA256 Credential=TEST/20260101/us-east-1/s3/aws4_request";
      const answer = await request(`${behind}/${from}/${key}`, { headers: { authorization } });
      return answer.body.text();
    },
    [Symbol.asyncDispose]: async () => {
      gate.closeAllConnections();
      gate.close();
      await Promise.all([once(gate, "close"), moto[Symbol.asyncDispose]()]);
    },
  };
}
