/** Parses the Server-Sent Events of a response. Handles only what our server sends. */
export async function* eventsOf(
  body: AsyncIterable<Buffer>,
): AsyncIterable<{ event: string; data: string }> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of body) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const field = (name: string): string =>
        new RegExp(`^${name}: ?(.*)$`, "m").exec(part)?.[1] ?? "";
      yield { event: field("event"), data: field("data") };
    }
  }
}
