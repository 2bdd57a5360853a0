import { setImmediate as nextTurn } from "node:timers/promises";
import { openJobText } from "../../domain/open-job.ts";
import { RefusalError } from "../../domain/refusal.ts";
import { checkPermission, wholeAccess } from "../../domain/roles.ts";
import { listSpecIdsOfZone } from "../../store/configurations/configurations.ts";
import type { Queries } from "../../store/db.ts";
import { endZoneRoles } from "../../store/teams/zone-roles.ts";
import {
  findAttached,
  findBusyJob,
  findLockedName,
  findTakenName,
  countConfigurations,
  findStatesMark,
  moveZone as moveRows,
  sumStates,
  type ZoneMove,
} from "../../store/zones/moves.ts";
import { person, record } from "../audit/audit.ts";
import { spaceOf, type Space, type UserCaller } from "../callers.ts";
import type { Context } from "../context.ts";
import { refuseMoving } from "../storage/zone-moves.ts";
import { checkCount, checkStateBytes } from "../storage/quotas.ts";

/** The space that `team` of a request names; null is the personal one. Throws 404. */
export function targetSpace({ spaces }: UserCaller, team: string | null): Space {
  const space = spaces.find(({ slug }) => slug === team);
  if (space) return space;
  throw new RefusalError(
    "team_not_found",
    team === null
      ? "an access token of a team cannot use a personal space"
      : `there is no team "${team}" of which you are a member`,
  );
}

/** What the states of a zone have, and when that was so. */
interface MeasuredStates {
  readonly bytes: number;
  readonly mark: string;
}

/** Configurations whose versions are added up at a time: those of all take seconds. */
const specsPerPage = 200;

/** Before the transaction of a move, which all other changes wait for. */
export async function measureStates(
  { store: { read } }: Pick<Context, "store">,
  move: Omit<ZoneMove, "to">,
): Promise<MeasuredStates> {
  const mark = await findStatesMark(read, move);
  let [bytes, after]: [number, string | undefined] = [0, undefined];
  for (;;) {
    const specs: string[] = await listSpecIdsOfZone(
      read,
      { owner: "", zone: move.zone },
      after,
      specsPerPage,
    );
    bytes += await sumStates(read, specs);
    if (specs.length < specsPerPage) return { bytes, mark };
    after = specs.at(-1);
    await nextTurn();
  }
}

/** A state of the zone was stored or removed after it was measured. */
export class StatesChangedError extends RefusalError {
  constructor() {
    super("zone_busy", "states of the zone change at the moment: try again in a minute");
  }
}

/** The audit log stays where it is; both spaces get an entry. Throws StatesChangedError. */
export async function moveZone(
  context: Context,
  tx: Queries,
  user: UserCaller,
  zone: { readonly id: string; readonly name: string },
  target: Space,
  states: MeasuredStates,
): Promise<void> {
  const { space_id: from } = user;
  const { space_id: to } = target;
  if (from === to) return;
  // It leaves the space, so a role in the zone is not enough.
  for (const { role } of [spaceOf(user) ?? wholeAccess("none"), target])
    checkPermission({ ...user, role }, "administer");
  const move = { zone: zone.id, from, to };
  await refuseMoving(tx, zone.id);
  const job = await findBusyJob(tx, move);
  if (job !== undefined) throw new RefusalError("zone_busy", openJobText(job));
  const locked = await findLockedName(tx, move);
  if (locked !== undefined)
    throw new RefusalError(
      "zone_busy",
      `the state of "${locked}" is locked by a job that was lost or could not save it: store that state or unlock it first`,
    );
  const attached = await findAttached(tx, move);
  if (attached.length > 0)
    throw new RefusalError(
      "zone_in_use",
      `the zone uses ${attached.map(({ kind, name }) => `the ${kind} "${name}"`).join(", ")}, which would stay behind: detach ${attached.length === 1 ? "it" : "them"} first`,
    );
  const taken = await findTakenName(tx, move);
  if (taken !== undefined)
    throw new RefusalError(
      "name_taken",
      `the name "${taken}" is taken in the other space: rename one of them first`,
    );
  await checkCount(context, tx, to, "configurations", await countConfigurations(tx, zone.id));
  await checkCount(context, tx, to, "zones");
  if (states.bytes > 0) await checkStateBytes(context, tx, to, states.bytes);
  if ((await findStatesMark(tx, move)) !== states.mark) throw new StatesChangedError();
  await moveRows(tx, move, states.bytes);
  const personal = "personal space";
  const details = { from: spaceOf(user)?.slug ?? personal, to: target.slug ?? personal };
  const { id, name } = zone;
  const entry = { by: person(user), action: "zone.move", id, name, details } as const;
  for (const owner of [from, to]) await record(tx, { ...entry, owner }, context.now());
  await endZoneRoles(tx, from, zone.id);
}
