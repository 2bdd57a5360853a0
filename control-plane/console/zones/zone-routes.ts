import type { UserCaller } from "../../services/callers.ts";
import type { Context } from "../../services/context.ts";
import {
  createZone,
  getZone,
  listConfigurationSummaries,
  listZoneSummaries,
  deleteZone,
  updateZone,
} from "../../services/zones/zones.ts";
import { mayDo } from "../../domain/roles.ts";
import { listSchedules } from "../../services/schedules/schedules.ts";
import { seesWholeSpace } from "../../services/teams/spaces.ts";
import { listRuns } from "../../services/jobs/runs.ts";
import type { Form } from "../page/form.ts";
import { inWholeSpace } from "../page/in-space.ts";
import { idIn, readList } from "../page/list.ts";
import { withSeenJobs } from "../schedules/seen-jobs.ts";
import type { SignedIn } from "../signed-in.ts";
import { listSetsOfZone } from "../../services/variable-sets/attached.ts";
import { listVariableSetNames } from "../../services/variable-sets/lists.ts";
import { attachOrDetach } from "../variable-sets/attach-input.ts";
import { zonePage, zonesPage } from "./zones-page.ts";
import { time } from "../../domain/moments.ts";

const shown = 100;
/** Fewer, because each has a strip of its last runs. */
const configurationsShown = 50;
const schedulesShown = 10;
/** Variable sets that can be chosen. */
const mostSets = 1000;

const frame = { at: "/zones", refresh: 10 };
const nameIn = (form: Form) => ({ name: form.word("name") });

export function zonePages(pages: SignedIn, context: Context): void {
  pages
    .page("/zones", "listZones", {
      draw: async (_, { caller, request, forms }) => {
        const zones = await readList(request.query, shown, (before, limit) =>
          listZoneSummaries(context, caller, before, limit),
        );
        return { ...frame, title: "Zones", body: zonesPage(zones, forms("create")) };
      },
    })
    .form("create", "createZone", {
      input: nameIn,
      submit: async ({ caller, input }) =>
        `/zones/${(await createZone(context, caller, input())).id}`,
    });

  pages
    .page("/zones/:id", "getZone", {
      find: (caller: UserCaller, params) => getZone(context, caller, idIn(params, "zone")),
      draw: async (zone, { caller, request, forms }) => {
        const configurations = await readList(request.query, configurationsShown, (before, limit) =>
          listConfigurationSummaries(context, caller, zone.id, before, limit),
        );
        const ids = configurations.items.map(({ id }) => id);
        const model = {
          zone,
          configurations,
          runs: await listRuns(context, ids),
          sets: {
            ...(await listSetsOfZone(context, caller, zone.id)),
            all: seesWholeSpace(caller)
              ? await listVariableSetNames(context, caller, mostSets)
              : [],
          },
          schedules: await withSeenJobs(
            context,
            caller,
            await listSchedules(context, caller, { zone_id: zone.id }, undefined, schedulesShown),
          ),
          // Moving it away takes it from the whole space.
          spaces: mayDo(inWholeSpace(caller), "administer")
            ? caller.spaces.filter(
                ({ space_id, role }) => role === "admin" && space_id !== caller.space_id,
              )
            : [],
          now: time(context.now()),
        };
        return { ...frame, title: zone.name, body: zonePage(model, forms) };
      },
    })
    .form("rename", "updateZone", {
      seen: ({ name }: { readonly name: string }) => ({ name }),
      input: nameIn,
      submit: async ({ caller, thing: { id }, input }) => {
        await updateZone(context, caller, id, input);
        return `/zones/${id}`;
      },
    })
    .form("sets", "attachToZone", {
      path: "/variable-sets",
      submit: async ({ caller, thing: { id }, form }) => {
        await attachOrDetach(context, caller, form, { zone_id: id });
        return `/zones/${id}#variable-sets`;
      },
    })
    .form("move", "updateZone", {
      path: "/team",
      needs: "administer",
      input: (form) => ({ team: form.text("team") || null }),
      submit: async ({ caller, thing: { id }, input }) => {
        await updateZone(context, caller, id, input());
        return `/zones/${id}`;
      },
    })
    .form("remove", "deleteZone", {
      path: "/delete",
      submit: async ({ caller, thing: { id } }) => {
        await deleteZone(context, caller, id);
        return "/zones";
      },
    });
}
