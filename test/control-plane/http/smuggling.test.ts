import { expect, test } from "vitest";
import { recordRequests, sendBytes } from "../../helpers/network/seen-requests.ts";
import { smugglingAttempts, smuggledPath } from "../../helpers/network/smuggled-requests.ts";
import { planeForFile } from "../../helpers/plane/plane-for-file.ts";

const { plane } = planeForFile();

test("a request whose end two readers may see differently is refused, with what follows it", async () => {
  const arrived: string[] = [];
  for (const [what, text] of smugglingAttempts) {
    using seen = recordRequests();
    const answer = await sendBytes(plane.url, text);
    expect([what, answer]).toEqual([what, expect.not.stringContaining("HTTP/1.1 5")]);
    if (seen.requests.some(({ url }) => url === smuggledPath)) arrived.push(what);
  }
  // There the first request ends where every reader says: another one follows it.
  expect(arrived).toEqual([
    'TE.CL "Transfer_Encoding: chunked"',
    'length "Content_Length: 74"',
    expect.stringMatching(/^chunks "2;a+"$/),
  ]);
});
