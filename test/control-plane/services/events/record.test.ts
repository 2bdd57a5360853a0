import { describe, expect } from "vitest";
import { system } from "../../../../control-plane/services/audit/audit.ts";
import { recordEvent, type EventRecord } from "../../../../control-plane/services/events/record.ts";
import { readRows, setRows } from "../../../helpers/plane/plane.ts";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";
import { addRule, addSpec } from "../../../helpers/plane/rows.ts";

const { plane, it } = planeForFile();

const recorded = async (event: Omit<EventRecord, "by">) => {
  const before = await readRows(plane, "events", { owner_id: event.owner });
  const { store, now } = plane.context;
  await store.write((tx) => recordEvent(tx, now(), { by: system, ...event }));
  const after = await readRows(plane, "events", { owner_id: event.owner });
  return after.slice(before.length);
};

describe("an event", () => {
  it("is recorded only in a space with a rule that selects it", async ({ owner, otherOwner }) => {
    const event = { type: "job.failed", owner: owner.id } as const;
    expect(await recorded(event)).toEqual([]);
    await addRule(plane.context.store, owner, { events: '["approval.*","job.failed"]' });
    expect(await recorded(event)).toEqual([
      expect.objectContaining({
        type: "job.failed",
        event_id: expect.stringMatching(/^evt_/),
        actor: '{"kind":"system","name":"Windlass"}',
        about: null,
        data: "{}",
      }),
    ]);
    expect(await recorded({ ...event, type: "approval.given" })).toHaveLength(1);
    expect(await recorded({ ...event, type: "job.queued" })).toEqual([]);
    expect(await recorded({ ...event, owner: otherOwner.id })).toEqual([]);
  });

  it("of three parts is selected by each of its beginnings", async ({ owner }) => {
    const rule = await addRule(plane.context.store, owner, { events: '["audit.zone.*"]' });
    const event = { type: "audit.zone.create", owner: owner.id } as const;
    expect(await recorded(event)).toHaveLength(1);
    expect(await recorded({ ...event, type: "audit.connection.create" })).toEqual([]);
    for (const [events, count] of [
      ['["audit.*"]', 1],
      ['["zone.*","job.*"]', 0],
    ] as const) {
      await setRows(plane, "notification_rules", { events }, { id: rule });
      expect(await recorded(event)).toHaveLength(count);
    }
  });

  it("is of the zone and the configuration of a rule, and keeps their names", async ({
    owner,
    otherOwner,
  }) => {
    const { store } = plane.context;
    const [spec, other] = [await addSpec(store, owner), await addSpec(store, owner)];
    await addRule(store, owner, { spec_id: spec, zone_id: owner.zone });
    const event = { type: "deployed", owner: owner.id } as const;
    expect(await recorded(event)).toEqual([]);
    expect(await recorded({ ...event, configuration: other })).toEqual([]);
    const [row] = await recorded({ ...event, configuration: spec });
    const { name } = (await readRows(plane, "specs", { id: spec }))[0]!;
    const zone = (await readRows(plane, "zones", { id: owner.zone }))[0]!;
    expect(row).toMatchObject({ spec_name: name, about: spec, zone_name: zone.name });
    expect(await recorded({ ...event, configuration: spec, zone: otherOwner.zone })).toEqual([]);
  });

  it("is not recorded for a rule that is disabled", async ({ owner }) => {
    await addRule(plane.context.store, owner, { enabled: 0 });
    expect(await recorded({ type: "deployed", owner: owner.id })).toEqual([]);
  });

  it("that is told once is recorded once, also for one rule alone", async ({ owner }) => {
    const rule = await addRule(plane.context.store, owner, {});
    const event = { type: "queue.stalled", owner: owner.id, rule, once: "stalled" } as const;
    expect(await recorded(event)).toMatchObject([{ rule_id: rule }]);
    expect(await recorded(event)).toEqual([]);
    expect(await recorded({ ...event, once: "another" })).toHaveLength(1);
    expect(await recorded({ ...event, rule: "no rule", once: "third" })).toEqual([]);
  });
});
