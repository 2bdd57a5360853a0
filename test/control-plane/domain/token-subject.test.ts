import { expect, it } from "vitest";
import { isTooLong, subjectOf } from "../../../control-plane/domain/token-subject.ts";

const names = {
  team: "platform",
  owner_id: "0199-user",
  zone: "eu:west",
  configuration: "a%b*c?d$e/f g",
  identity: "live",
};

it("names space, zone, configuration and phase, with `:`, `%`, `*`, `?` and `$` encoded", () => {
  expect(subjectOf(names, "configuration", "plan")).toBe(
    "team:platform:zone:eu%3Awest:configuration:a%25b%2Ac%3Fd%24e/f g:phase:plan",
  );
});

it("names only the zone or only the identity if the identity says so, and always the phase", () => {
  expect(subjectOf(names, "zone", "apply")).toBe("team:platform:zone:eu%3Awest:phase:apply");
  expect(subjectOf(names, "identity", "apply")).toBe("team:platform:identity:live:phase:apply");
});

it("names the user of a personal space", () => {
  expect(subjectOf({ ...names, team: null }, "identity", "plan")).toBe(
    "person:0199-user:identity:live:phase:plan",
  );
});

it("counts characters", () => {
  expect(isTooLong("🦊".repeat(255))).toBe(false);
  expect(isTooLong("a".repeat(256))).toBe(true);
});
