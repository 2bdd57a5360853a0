import { describe, expect } from "vitest";
import { planeForFile } from "../../../helpers/plane/plane-for-file.ts";

const source = { type: "inline" as const, files: { "main.tf": "" } };

const { it } = planeForFile();

describe("a zone", () => {
  it("can be renamed, but not to a name that is taken", async ({ client }) => {
    const { id } = await client.call("createZone", { body: { name: "one" } });
    await client.call("createZone", { body: { name: "two" } });
    const renamed = await client.call("updateZone", { params: { id }, body: { name: "three" } });
    expect(renamed.name).toBe("three");
    expect(await client.refusal("updateZone", { params: { id }, body: { name: "two" } })).toBe(
      "409 name_taken",
    );
  });

  it("can be deleted only when it is empty", async ({ owner, client }) => {
    const params = { id: owner.zone };
    const body = { name: "one", zone_id: owner.zone, source } as const;
    const { name } = await client.call("createConfiguration", { body });
    expect(await client.refusal("deleteZone", { params })).toBe("409 zone_not_empty");
    await client.call("deleteConfiguration", { params: { name } });
    await client.call("deleteZone", { params });
    expect(await client.refusal("getZone", { params })).toBe("404 not_found");
  });

  it("is not found by other users", async ({ owner, otherClient: client }) => {
    const params = { id: owner.zone };
    expect(await client.refusal("updateZone", { params, body: { name: "x" } })).toBe(
      "404 not_found",
    );
    expect(await client.refusal("deleteZone", { params })).toBe("404 not_found");
  });
});
