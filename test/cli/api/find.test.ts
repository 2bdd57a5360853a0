import { describe, expect, it } from "vitest";
import { find } from "../../../cli/api/find.ts";
import { CliError } from "../../../cli/terminal/output.ts";

const zones = [
  { id: "01890a5d-ac96-7000-8000-00000000000a", name: "production" },
  { id: "01890a5d-ac97-7000-8000-00000000000b", name: "preview" },
  { id: "01890b00-0000-7000-8000-00000000000c", name: "01890a5d" },
  { id: "7f3a5c0e9d2b4186", name: "a hash" },
  { id: "01890c00-0000-7000-8000-00000000000d", name: "twice" },
  { id: "01890d00-0000-7000-8000-00000000000e", name: "twice" },
  { id: "01890e00-0000-7000-8000-00000000000f", name: "Z\u00fcrich" },
  { id: "01890f00-0000-7000-8000-000000000010", name: "pay $(roll)" },
];
/** The name of what is found, or the exit code and the message. */
const found = (wanted: string, noun = "zones"): string => {
  try {
    return find({ team: "platform" }, "zone", noun, zones, wanted).name;
  } catch (error) {
    if (error instanceof CliError) return `${error.exitCode}: ${error.message}`;
    throw error;
  }
};

describe("a resource", () => {
  it.each([
    ["production", "production"],
    [zones[1]!.id.toUpperCase(), "preview"],
    ["01890a5d-ac97", "preview"],
    ["01890a5dac97", "preview"],
    ["01890b", "01890a5d"],
    // A name comes before the beginning of an id.
    ["01890a5d", "01890a5d"],
    ["7f3a5c0e9d2b4", "a hash"],
    ["Zu\u0308rich", "Z\u00fcrich"],
  ])("is found by %j", (wanted, name) => {
    expect(found(wanted)).toBe(name);
  });

  it("is not found by the beginning of several ids, which are listed", () => {
    expect(found("01890a5d-ac9")).toBe(
      `2: Several zones have ids that begin with 01890a5d-ac9. Type more of the id:\n  ${zones[0]!.id}  production\n  ${zones[1]!.id}  preview`,
    );
  });

  it("is not found by the name of several, which are listed", () => {
    expect(found("twice")).toBe(
      `2: Several zones are named "twice". Pass the id of one:\n  ${zones[4]!.id}  twice\n  ${zones[5]!.id}  twice`,
    );
    expect(found("twice", "teams invitations")).toMatch(/^2: Several invitations are named/);
    expect(found("twice", "variable-sets")).toMatch(/^2: Several variable sets are named/);
    expect(found(zones[4]!.id)).toBe("twice");
  });

  it.each([
    ["prodaction", '1: There is no zone "prodaction". Did you mean production?'],
    ["pay $(rol)", `1: There is no zone "pay $(rol)". Did you mean 'pay $(roll)'?`],
    [
      "0189ffff",
      '1: There is no zone "0189ffff". To see what exists: windlass zones list --team platform',
    ],
    ["7ff", '1: There is no zone "7ff". To see what exists: windlass zones list --team platform'],
  ])("is not found by %j, with what to do", (wanted, message) => {
    expect(found(wanted)).toBe(message);
  });
});
