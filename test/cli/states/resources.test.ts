import { describe, expect, it } from "vitest";
import { instancesOf, isReadable, shownAttributes } from "../../../cli/states/resources.ts";

const one = { mode: "managed", type: "aws_instance", name: "web", instances: [{}] };

describe("the addresses in a state", () => {
  it.each([
    [one, ["aws_instance.web"]],
    [{ ...one, mode: "data" }, ["data.aws_instance.web"]],
    [{ ...one, module: 'module.a["x"]' }, ['module.a["x"].aws_instance.web']],
    [
      { ...one, instances: [{ index_key: 0 }, { index_key: 'a"b' }] },
      ["aws_instance.web[0]", 'aws_instance.web["a\\"b"]'],
    ],
    [{ ...one, instances: [{ deposed: "1" }, {}] }, ["aws_instance.web"]],
  ])("of %j are %j", (resource, addresses) => {
    const document = { version: 4, resources: [resource] };
    expect(instancesOf(document).map(({ address }) => address)).toEqual(addresses);
  });

  it.each([
    [{ version: 4 }, true],
    [{ encryption_version: "v0" }, false],
    [{ version: 4, encryption_version: "v0" }, false],
    [{ version: 3 }, false],
  ])("of %j can be read: %j", (document, expected) => {
    expect(isReadable(document)).toBe(expected);
  });

  it("are none in an empty state", () => {
    expect(instancesOf({ version: 4 })).toEqual([]);
  });
});

describe("the attributes of a resource", () => {
  it("hide what the state marks as sensitive, wherever it is", () => {
    const attributes = { id: "1", password: "p", nested: [{ key: "k", name: "n" }], empty: null };
    const path = (...values: unknown[]) => values.map((value) => ({ type: "get_attr", value }));
    const index = { value: 0, type: "number" };
    const sensitive_attributes = [
      path("password"),
      path("nested", index, "key"),
      path("empty"),
      path("gone", "x"),
    ];
    expect(shownAttributes({ attributes, sensitive_attributes })).toEqual({
      id: "1",
      password: "(sensitive)",
      nested: [{ key: "(sensitive)", name: "n" }],
      empty: null,
    });
    expect(attributes.password).toBe("p");
  });

  it("hide it within a value of dynamic type, and in the copies that terraform does not mark", () => {
    const type = ["object", { name: "string", pw: "string" }];
    const value = { name: "web", pw: "s3cret" };
    const attributes = {
      input: { type, value },
      output: { type, value },
      url: "https://ada:s3cret@host",
    };
    const marks = (...names: string[]) => [
      names.map((name) => ({ type: "get_attr", value: name })),
    ];
    const shown = shownAttributes({ attributes, sensitive_attributes: marks("input", "pw") });
    expect(JSON.stringify(shown)).not.toContain("s3cret");
    expect(shown["input"]).toEqual({ type, value: { name: "web", pw: "(sensitive)" } });
    expect(shown["output"]).toEqual(shown["input"]);
    // The name of its type is no secret.
    const text = { value: "s3cret", type: "string" };
    const whole = { input: text, output: text, kind: "string" };
    expect(shownAttributes({ attributes: whole, sensitive_attributes: marks("input") })).toEqual({
      input: "(sensitive)",
      output: { value: "(sensitive)", type: "string" },
      kind: "string",
    });
    const lost = shownAttributes({ attributes, sensitive_attributes: marks("input", "key", "x") });
    expect(lost["input"]).toBe("(sensitive)");
  });
});
