import { startOfIds } from "../../domain/moments.ts";
import type { Context } from "../context.ts";

/** Jobs with smaller ids have waited so long that they are of the first class of the queue. */
export const liftedIds = ({ now, periods }: Pick<Context, "now" | "periods">): string =>
  startOfIds(now() - periods.lift);
