import { expect, it } from "vitest";
import { linesWithSets } from "../../../cli/configurations/values.ts";

it("the first value of a name is shown, with the set that it comes from", () => {
  const own = {
    variables: { size: { value: 3 }, password: { sensitive: true } },
    environment: { HELM_DRIVER: "secret" },
  };
  const sets = [
    {
      name: "team",
      variables: { size: { value: 9 }, zones: { value: ["a"] } },
      environment: { DNS_API_TOKEN: { sensitive: true } },
    },
    { name: "europe", variables: { zones: { value: ["b"] }, region: { value: "eu" } } },
  ];
  expect(linesWithSets(own, sets)).toEqual({
    variables: [
      "size = 3",
      "password = (sensitive)",
      'zones = ["a"]  (from the variable set "team")',
      'region = eu  (from the variable set "europe")',
    ],
    environment: [
      "HELM_DRIVER=secret",
      'DNS_API_TOKEN=(sensitive)  (from the variable set "team")',
    ],
  });
  expect(linesWithSets({}, [])).toEqual({ variables: [], environment: [] });
});
