/** What waits for a runner: for scaling runners by the queue. */
import type { Answer } from "../../../protocol/endpoint.ts";
import type { endpoints } from "../../../protocol/endpoints.ts";
import { countClaimable } from "../../store/claims/claims.ts";
import type { UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";

export async function countQueue(
  { store }: Context,
  { space_id: owner }: UserCaller,
  labels: string | undefined,
): Promise<Answer<typeof endpoints.countQueue>> {
  const has = labels === undefined ? "" : JSON.stringify(labels.split(",").filter(Boolean));
  const counts = new Map<string, { labels: string[]; count: number }>();
  let total = 0;
  for (const { wanted, count } of await store.read.all(countClaimable, { owner, labels: has })) {
    // Features stand beside the labels. The order of labels makes no difference.
    const needed = (JSON.parse(wanted) as string[]).filter((word) => !word.startsWith("+"));
    const key = needed.toSorted().join();
    counts.set(key, { labels: needed, count: (counts.get(key)?.count ?? 0) + count });
    total += count;
  }
  return { total, counts: [...counts.values()] };
}
